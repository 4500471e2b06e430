import { classes } from "../design/classes";
import type { LiveState } from "../live/follow";
import styles from "./LiveIndicator.module.css";
import { useWorkspace } from "./workspace";

const WORDS: Record<LiveState, { readonly name: string; readonly meaning: string }> = {
  live: { name: "Connected", meaning: "Changes appear here as they happen." },
  connecting: { name: "Connecting", meaning: "Connecting. Then changes appear here as they happen." },
  waiting: {
    name: "Reconnecting",
    meaning: "The connection was lost. Touchline reconnects automatically. Until then, this page may be out of date.",
  },
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
