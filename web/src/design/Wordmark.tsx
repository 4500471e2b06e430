import { classes } from "./classes";
import styles from "./Wordmark.module.css";

/** Half a pitch from above: the touchline, the halfway line and the centre circle. */
export function Mark({ size = 26 }: { readonly size?: number }) {
  return (
    <svg class={styles.mark} width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g class={styles.lines} fill="none" stroke-width="2.25" stroke-linecap="round">
        <path d="M6 9h20" />
        <path d="M16 9v16" />
        <path d="M9.5 9a6.5 6.5 0 0 0 13 0" />
      </g>
    </svg>
  );
}

/** `compact`: without the name where there is little room. */
export function Wordmark({ compact = false }: { readonly compact?: boolean }) {
  return (
    <span class={classes(styles.wordmark, compact && styles.compact)}>
      <Mark />
      <span class={styles.name}>Touchline</span>
    </span>
  );
}
