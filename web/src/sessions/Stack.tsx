import { classes } from "../design/classes";
import type { Tint } from "./Legend";
import styles from "./Stack.module.css";

interface StackProps {
  /** How much of the room it fills, 0 to 1. */
  readonly share: number;
  readonly parts: readonly (readonly [tint: Tint, count: number])[];
  readonly across?: boolean;
}

/** One bar in parts, upwards or across. Words beside it say the same. */
export function Stack({ share, parts, across = false }: StackProps) {
  return (
    <span
      class={classes(styles.stack, across ? styles.across : styles.upwards)}
      style={{ "--share": `${share * 100}%` }}
      aria-hidden="true"
    >
      {parts.map(([tint, count]) =>
        count > 0 ? <span key={tint} class={classes(styles.part, styles[tint])} style={{ "--part": count }} /> : null,
      )}
    </span>
  );
}
