import { classes } from "../design/classes";
import type { LiveState } from "../live/follow";
import styles from "./LiveIndicator.module.css";
import { useWorkspace } from "./workspace";

const WORDS: Record<LiveState, { readonly name: string; readonly meaning: string }> = {
  live: { name: "Live", meaning: "Changes appear as they happen." },
  connecting: { name: "Connecting", meaning: "Connecting to live changes." },
  waiting: { name: "Reconnecting", meaning: "The live connection was lost. It comes back by itself." },
};

export function LiveIndicator() {
  const { live } = useWorkspace();
  const { name, meaning } = WORDS[live.value];
  return (
    <span class={classes(styles.indicator, styles[live.value])} role="status" title={meaning}>
      <span class={styles.dot} />
      <span class={styles.name}>{name}</span>
    </span>
  );
}
