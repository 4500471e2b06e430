import { useSignal } from "@preact/signals";
import { Icon } from "../design/Icon";
import styles from "./HitFrame.module.css";
import type { Hit } from "./model";
import { boxArea, inPercent, pictureSize } from "./picture";
import { formatMoment } from "./words";

/** The picture in which it was read. The words beside it say the same, so it is decoration to those who listen. */
export function HitFrame({ hit: { frameUrl, box, startMs } }: { readonly hit: Hit }) {
  const broken = useSignal(false);
  const area = boxArea(box);
  const isShown = frameUrl !== null && !broken.value;
  return (
    <div class={styles.place} aria-hidden="true">
      {isShown ? (
        <div class={styles.picture} style={inPercent(pictureSize(box))}>
          <img
            src={frameUrl}
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
      <span class={styles.moment}>{formatMoment(startMs)}</span>
    </div>
  );
}
