import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { watchPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { Phrase } from "../design/Phrase";
import { look, Row } from "../design/Row";
import { formatBytes } from "../kernel/format";
import type { Video } from "./model";
import { Poster } from "./Poster";
import { StateChip } from "./StateChip";
import { stateView } from "./states";
import styles from "./VideoRow.module.css";

interface VideoRowProps {
  readonly video: Video;
  /** How far this browser's own upload of it is. */
  readonly sentPercent: number | null;
  readonly onDelete: ((video: Video) => void) | null;
}

/** A row that nothing has happened to is not compared again, however many there are. */
export function VideoRow({ video, sentPercent, onDelete }: VideoRowProps) {
  const { library } = useWorkspace();
  return useMemo(
    () => (
      <Row class={styles.row}>
        <Poster video={video} onError={() => library.posterFailed(video)} />
        <div class={look.words}>
          <Link to={watchPath(video.playbackId)} class={look.title}>
            {video.title}
          </Link>
          <Facts video={video} />
          {video.status === "failed" && <Failure video={video} />}
        </div>
        <StateChip state={stateView(video, sentPercent)} />
        {onDelete && (
          <IconButton
            icon="trash"
            label={`Delete ${video.title}`}
            class={classes(look.above, styles.delete)}
            onClick={() => onDelete(video)}
          />
        )}
      </Row>
    ),
    [video, sentPercent, onDelete],
  );
}

function Facts({ video }: { readonly video: Video }) {
  const { width, height, sizeBytes, createdAt } = video;
  const facts: ComponentChildren[] = [<Age key="age" since={createdAt} />];
  if (width !== null && height !== null)
    facts.push(<span key="picture" class={styles.picture}>{`${width} × ${height}`}</span>);
  if (sizeBytes !== null) facts.push(<span key="size">{formatBytes(sizeBytes)}</span>);
  return <p class={look.facts}>{facts}</p>;
}

function Failure({ video }: { readonly video: Video }) {
  return (
    <p class={look.failure}>
      <Phrase text={video.errorMessage ?? "The video could not be processed"} />
    </p>
  );
}
