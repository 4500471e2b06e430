import styles from "./SkeletonHits.module.css";

/** The shape of what is on its way. */
export function SkeletonHits({ count }: { readonly count: number }) {
  return (
    <div class={styles.rows} role="status" aria-label="Searching">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class={styles.row}>
          <div class={styles.frame} />
          <div>
            <div class={styles.text} />
            <div class={styles.facts} />
          </div>
        </div>
      ))}
    </div>
  );
}
