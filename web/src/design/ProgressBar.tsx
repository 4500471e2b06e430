import styles from "./ProgressBar.module.css";

interface ProgressBarProps {
  /** 0 to 100; null when nobody knows how far it is. */
  readonly percent: number | null;
  readonly label: string;
}

export function ProgressBar({ percent, label }: ProgressBarProps) {
  const value = percent === null ? {} : { "aria-valuenow": percent };
  return (
    <div class={styles.track} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} {...value}>
      <div class={percent === null ? styles.unknown : styles.fill} style={{ "--share": `${(percent ?? 0) / 100}` }} />
    </div>
  );
}
