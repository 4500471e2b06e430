import { useSignal } from "@preact/signals";
import { Icon } from "../design/Icon";
import styles from "./HitFrame.module.css";
import type { Hit } from "./model";
import { boxArea, inPercent, pictureSize } from "./picture";
import { formatMoment } from "./words";

const WHOLE = { width: 100, height: 100 };

/** The picture in which it was read, or the poster of its video. The words beside it say the same, so it is decoration to those who listen. */
export function HitFrame({ hit: { frameUrl, box, startMs, vod } }: { readonly hit: Hit }) {
  const broken = useSignal(false);
  const area = box && boxArea(box);
  const address = box === null ? vod.posterUrl : frameUrl;
  const isShown = address !== null && !broken.value;
  return (
    <div class={styles.place} aria-hidden="true">
      {isShown ? (
        <div class={styles.picture} style={inPercent(box === null ? WHOLE : pictureSize(box))}>
          <img
            src={address}
            alt=""
            loading="lazy"
            decoding="async"
            onError={() => {
              broken.value = true;
            }}
          />
          {area && <span class={styles.box} style={inPercent(area)} />}
        </div>
      ) : (
        <Icon name="film" size={30} />
      )}
      {box !== null && <span class={styles.moment}>{formatMoment(startMs)}</span>}
    </div>
  );
}
