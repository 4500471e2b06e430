import styles from "./SkeletonRows.module.css";

/** The shape of what is on its way. */
export function SkeletonRows({ count }: { readonly count: number }) {
  return (
    <div class={styles.rows} role="status" aria-label="Loading videos">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class={styles.row}>
          <div class={styles.poster} />
          <div>
            <div class={styles.title} />
            <div class={styles.facts} />
          </div>
          <div class={styles.chip} />
        </div>
      ))}
    </div>
  );
}
