import { useEffect, useMemo, useRef } from "preact/hooks";
import { Link } from "../app/Link";
import { watchPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { Player } from "../player/Player";
import { createWatch, titleNow } from "../player/watch";
import styles from "./GoalPlayer.module.css";
import type { GoalVideo } from "./model";
import { isAddress, videoFacts } from "./words";

interface GoalPlayerProps {
  readonly video: GoalVideo;
  readonly onClose: () => void;
}

/** Plays in the place where it was chosen. */
export function GoalPlayer({ video, onClose }: GoalPlayerProps) {
  const { request, library } = useWorkspace();
  const place = useRef<HTMLDivElement>(null);
  const playbackId = (library.video(video.artifactHash) ?? video.vod)?.playbackId ?? "";
  const watch = useMemo(() => createWatch(request, playbackId), [playbackId]);
  useEffect(() => {
    void watch.load();
    place.current?.scrollIntoView({ block: "nearest" });
  }, [watch]);
  const state = watch.state.value;
  return (
    <div ref={place} class={styles.place}>
      {state.kind === "loading" && <div class={styles.blank} role="status" aria-label="Loading" />}
      {state.kind === "playable" && (
        <Player
          playback={state.playback}
          title={titleNow(state.playback, library.video(video.artifactHash))}
          startMs={0}
          onExpired={() => void watch.load()}
        />
      )}
      {state.kind !== "loading" && state.kind !== "playable" && (
        <ProblemNotice problem={state.problem} onRetry={() => void watch.load()} />
      )}
      <div class={styles.below}>
        <p class={look.facts}>
          {videoFacts(video).map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
        </p>
        <div class={styles.acts}>
          {isAddress(video.sourceUrl) && (
            <a href={video.sourceUrl} target="_blank" rel="noreferrer noopener" class={styles.link}>
              Post
            </a>
          )}
          {playbackId !== "" && (
            <Link to={watchPath(playbackId)} class={styles.link}>
              Open
            </Link>
          )}
          <Button icon="close" onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </div>
  );
}
