import { classes } from "./classes";
import { look } from "./Row";
import styles from "./SkeletonRows.module.css";

interface SkeletonRowsProps {
  readonly count: number;
  /** Said, not shown. */
  readonly label: string;
  /** What stands before the words, if anything. */
  readonly picture?: "poster" | "frame";
}

/** The shape of what is on its way. */
export function SkeletonRows({ count, label, picture }: SkeletonRowsProps) {
  return (
    <div class={classes(look.list, styles.rows)} role="status" aria-label={label}>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class={classes(styles.row, picture && styles[picture])}>
          {picture && <div class={styles.picture} />}
          <div>
            <div class={styles.title} />
            <div class={styles.facts} />
          </div>
        </div>
      ))}
    </div>
  );
}
