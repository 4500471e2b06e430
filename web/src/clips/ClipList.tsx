import { useSignal } from "@preact/signals";
import { Link } from "../app/Link";
import { tell, tellProblem } from "../app/messages";
import { watchPath } from "../app/routes";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { ConfirmDialog } from "../design/ConfirmDialog";
import { Phrase } from "../design/Phrase";
import { look, Row } from "../design/Row";
import { plural } from "../kernel/format";
import { problemOf } from "../kernel/problem";
import { wait } from "../kernel/waiting";
import { Poster } from "../library/Poster";
import { StateChip } from "../library/StateChip";
import { stateView } from "../library/states";
import row from "../library/VideoRow.module.css";
import styles from "./ClipList.module.css";
import { createClips } from "./clips";
import type { Clip } from "./rules";

interface ClipListProps {
  /** Only those of one stream. */
  readonly streamId?: string | null;
}

/** The newest clips below the videos; nothing at all where nobody has made one. */
export function ClipList({ streamId = null }: ClipListProps) {
  const { clipFeed, mayChange } = useWorkspace();
  const clips = useSource(
    clipFeed,
    (request, ends) => createClips({ request, streamId, wait, random: Math.random, ends }),
    [streamId],
  );
  const { page } = clips;
  const doomed = useSignal<Clip | null>(null);
  if (page.value.clips.length === 0) return null;
  return (
    <section class={styles.clips} aria-labelledby="clips">
      <h2 id="clips">
        Clips <span class={styles.count}>{plural(page.value.totalCount, "clip")}</span>
      </h2>
      <ul class={look.list}>
        {page.value.clips.map((clip) => (
          <ClipRow
            key={clip.artifactHash}
            clip={clip}
            onDelete={mayChange ? () => (doomed.value = clip) : null}
            onPosterError={() => clips.posterFailed(clip)}
          />
        ))}
      </ul>
      {doomed.value && <DeleteClip clip={doomed.value} remove={clips.remove} onClose={() => (doomed.value = null)} />}
    </section>
  );
}

interface ClipRowProps {
  readonly clip: Clip;
  readonly onDelete: (() => void) | null;
  readonly onPosterError: () => void;
}

function ClipRow({ clip, onDelete, onPosterError }: ClipRowProps) {
  return (
    <Row class={row.row}>
      <Poster video={clip} onError={onPosterError} />
      <div class={look.words}>
        <Link to={watchPath(clip.playbackId)} class={look.title}>
          {clip.title}
        </Link>
        <p class={look.facts}>
          <span class={styles.chip}>Clip</span>
          {clip.source && (
            <span>
              of{" "}
              <Link to={watchPath(clip.source.playbackId)} class={look.above}>
                {clip.source.title}
              </Link>
            </span>
          )}
          <Age since={clip.createdAt} />
        </p>
        {clip.status === "failed" && (
          <p class={look.failure}>
            <Phrase text={clip.errorMessage ?? "The clip could not be created"} />
          </p>
        )}
      </div>
      <StateChip state={stateView(clip, null)} />
      {onDelete && (
        <IconButton
          icon="trash"
          label={`Delete ${clip.title}`}
          class={classes(look.above, row.delete)}
          onClick={onDelete}
        />
      )}
    </Row>
  );
}

interface DeleteClipProps {
  readonly clip: Clip;
  readonly remove: (clip: Clip) => Promise<void>;
  readonly onClose: () => void;
}

function DeleteClip({ clip, remove, onClose }: DeleteClipProps) {
  const busy = useSignal(false);
  const confirm = async () => {
    busy.value = true;
    try {
      await remove(clip);
      tell(`“${clip.title}” was deleted.`);
      document.querySelector("h1")?.focus(); // the button that had the focus went with its row
    } catch (error) {
      tellProblem(problemOf(error));
    }
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Delete “${clip.title}”?`}
      confirmLabel="Delete clip"
      busy={busy.value}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      Its link stops working for everyone. What it was cut from is kept.
    </ConfirmDialog>
  );
}
