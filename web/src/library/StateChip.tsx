import { classes } from "../design/classes";
import { ProgressBar } from "../design/ProgressBar";
import styles from "./StateChip.module.css";
import type { StateView } from "./states";

export function StateChip({ state }: { readonly state: StateView }) {
  const { label, tone, progress } = state;
  const percent = progress?.percent ?? null;
  return (
    <div class={styles.state}>
      <span class={classes(styles.chip, styles[tone])}>
        <span class={styles.dot} />
        {label}
        {percent !== null && <span class={styles.percent}>{percent}%</span>}
      </span>
      {progress !== null && <ProgressBar percent={percent} label={label} />}
    </div>
  );
}
