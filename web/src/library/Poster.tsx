import { Icon } from "../design/Icon";
import { formatDuration } from "../kernel/format";
import type { Video } from "./model";
import styles from "./Poster.module.css";

interface PosterProps {
  readonly video: Pick<Video, "posterUrl" | "durationMs">;
  readonly onError: () => void;
}

/** The title beside it says what it is: the picture itself is decoration. */
export function Poster({ video, onError }: PosterProps) {
  return (
    <div class={styles.poster}>
      {video.posterUrl === null ? (
        <Icon name="film" size={26} />
      ) : (
        <img key={video.posterUrl} src={video.posterUrl} alt="" loading="lazy" decoding="async" onError={onError} />
      )}
      {video.durationMs !== null && <span class={styles.duration}>{formatDuration(video.durationMs)}</span>}
    </div>
  );
}
