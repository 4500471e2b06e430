import { Icon } from "../design/Icon";
import { formatDuration } from "../kernel/format";
import type { Video } from "./model";
import styles from "./Poster.module.css";

/** The widths in which the gateway has a poster; what was not made that small comes as it is. */
const WIDTHS = [320, 640] as const;
const LARGEST = 1280;
/** How wide it is in every list, about: the browser chooses by it and by the screen. */
const SHOWN = "9.5rem";

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
        <img
          key={video.posterUrl}
          src={video.posterUrl}
          srcset={posterSizes(video.posterUrl)}
          sizes={SHOWN}
          alt=""
          loading="lazy"
          decoding="async"
          onError={onError}
        />
      )}
      {video.durationMs !== null && <span class={styles.duration}>{formatDuration(video.durationMs)}</span>}
    </div>
  );
}

function posterSizes(url: string): string {
  return [...WIDTHS.map((width) => `${url}?width=${width} ${width}w`), `${url} ${LARGEST}w`].join(", ");
}
