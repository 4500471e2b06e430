import { useEffect, useRef } from "preact/hooks";
import { Link } from "../app/Link";
import { classes } from "../design/classes";
import { now } from "../kernel/clock";
import { dayPath } from "./address";
import styles from "./DayBar.module.css";
import type { MatchDay } from "./model";
import { dayFacts, dayWords } from "./words";

interface DayBarProps {
  readonly days: readonly MatchDay[];
  readonly chosen: string;
}

/** From the oldest to the newest; the chosen one is in sight. */
export function DayBar({ days, chosen }: DayBarProps) {
  const bar = useRef<HTMLElement>(null);
  const ordered = [...days].sort((one, other) => (one.day < other.day ? -1 : 1));
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (bar.current && current) bar.current.scrollLeft = current.offsetLeft - bar.current.clientWidth / 2;
  }, [chosen, days.length]);
  return (
    <nav ref={bar} class={styles.days} aria-label="Days">
      {ordered.map((one) => (
        <Link key={one.day} to={dayPath(one.day)} class={styles.day} current={one.day === chosen}>
          <span class={styles.name}>{dayWords(one.day, now.value)}</span>
          <span class={classes(styles.facts, one.live > 0 && styles.live)}>{dayFacts(one)}</span>
        </Link>
      ))}
    </nav>
  );
}
