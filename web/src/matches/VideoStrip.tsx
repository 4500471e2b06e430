import { useWorkspace } from "../app/workspace";
import { classes } from "../design/classes";
import { Icon } from "../design/Icon";
import { Poster } from "../library/Poster";
import { isPlayable } from "../library/rules";
import type { Goal, GoalVideo } from "./model";
import styles from "./VideoStrip.module.css";
import { goalName, goalVideoWords, videoFacts } from "./words";

interface VideoStripProps {
  readonly goal: Goal;
  /** The one that plays. */
  readonly chosen: string | null;
  readonly onPlay: (artifactHash: string) => void;
}

/** The videos of a goal, the best one first. What was deleted since they were read is not shown. */
export function VideoStrip({ goal, chosen, onPlay }: VideoStripProps) {
  const { library } = useWorkspace();
  const shown = goal.videos.filter(({ artifactHash }) => library.video(artifactHash)?.status !== "deleted");
  return (
    <ul class={styles.strip} aria-label={`Videos of ${goalName(goal)}`}>
      {shown.map((video) => (
        <li key={video.artifactHash}>
          <Thumbnail video={video} isChosen={video.artifactHash === chosen} onPlay={() => onPlay(video.artifactHash)} />
        </li>
      ))}
    </ul>
  );
}

interface ThumbnailProps {
  readonly video: GoalVideo;
  readonly isChosen: boolean;
  readonly onPlay: () => void;
}

function Thumbnail({ video, isChosen, onPlay }: ThumbnailProps) {
  const { library } = useWorkspace();
  const artifact = library.video(video.artifactHash) ?? video.vod; // the library hears of it as it is processed
  const isReady = artifact !== null && isPlayable(artifact);
  const shown = { posterUrl: artifact?.posterUrl ?? null, durationMs: video.durationMs };
  return (
    <button
      type="button"
      class={classes(styles.video, isChosen && styles.chosen)}
      aria-pressed={isChosen}
      disabled={!isReady}
      aria-label={`${isChosen ? "Close" : "Play"} video ${video.rank}, ${videoFacts(video).join(", ")}`}
      onClick={onPlay}
    >
      <Poster video={shown} onError={() => artifact && library.posterFailed(artifact)} />
      <span class={styles.facts} title={videoFacts(video).join(" · ")}>
        <span class={styles.rank}>{video.rank}</span>
        {isReady ? <Marks video={video} /> : <span>{goalVideoWords(artifact)}</span>}
      </span>
    </button>
  );
}

function Marks({ video: { verified, height, popularity } }: { readonly video: GoalVideo }) {
  return (
    <>
      <span>{`${height}p`}</span>
      {popularity > 1 && <span>{`×${popularity}`}</span>}
      {verified && (
        <span class={styles.verified}>
          <Icon name="check" size={14} />
        </span>
      )}
    </>
  );
}
