import { classes } from "../design/classes";
import styles from "./Legend.module.css";

export type Tint =
  "success" | "excused" | "unexcused" | "running" | "cancelled" | "uncounted" | "first" | "second" | "third";

export interface LegendEntry {
  readonly tint: Tint;
  readonly name: string;
  readonly value: string;
}

interface LegendProps {
  /** Of what the figures are. */
  readonly of: string;
  readonly entries: readonly LegendEntry[];
}

/** What the colours mean, and the figures of what is pointed at. */
export function Legend({ of, entries }: LegendProps) {
  return (
    <ul class={styles.legend} aria-label="Legend">
      <li class={styles.of}>{of}</li>
      {entries.map(({ tint, name, value }) => (
        <li key={name}>
          <span class={classes(styles.swatch, styles[tint])} />
          {name} <strong>{value}</strong>
        </li>
      ))}
    </ul>
  );
}
