import { formatBytes, plural } from "../kernel/format";
import type { PlaceTotal } from "./model";
import styles from "./PlaceBars.module.css";
import { locationWords } from "./words";

/** How much lies where. The words say what the bars show. */
export function PlaceBars({ places }: { readonly places: readonly PlaceTotal[] }) {
  const most = Math.max(1, ...places.map(({ sizeBytes }) => sizeBytes));
  if (places.length === 0) return null;
  return (
    <dl class={styles.places} aria-label="Storage by place">
      {places.map(({ location, artifacts, sizeBytes }) => (
        <div key={location} class={styles.place}>
          <dt>{locationWords(location)}</dt>
          <dd class={styles.bytes}>{formatBytes(sizeBytes)}</dd>
          <dd class={styles.count}>{plural(artifacts, "artifact")}</dd>
          <dd class={styles.bar} aria-hidden="true" style={{ "--share": `${(sizeBytes / most) * 100}%` }} />
        </div>
      ))}
    </dl>
  );
}
