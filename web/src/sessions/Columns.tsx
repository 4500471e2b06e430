import type { ComponentChildren } from "preact";
import { Link } from "../app/Link";
import { classes } from "../design/classes";
import type { Tick } from "./buckets";
import styles from "./Columns.module.css";
import { stops } from "./stops";

export interface Column {
  readonly key: string | number;
  /** Where the rows are that it counts; null when it counts none. */
  readonly to: string | null;
  /** All of it, in words. */
  readonly label: string;
  readonly content: ComponentChildren;
}

interface ColumnsProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly ticks: readonly Tick[];
  /** From above. */
  readonly scale: readonly string[];
  readonly onPoint: (index: number | null) => void;
  /** Drawn over the columns. */
  readonly children?: ComponentChildren;
}

/** Words at either end stay within the chart. */
export function tickPlace(at: number): Record<`--${string}`, string> {
  return { "--at": `${at * 100}%`, "--shift": at < 0.03 ? "0%" : at > 0.96 ? "-100%" : "-50%" };
}

/** Columns side by side, each of which leads to what it counts. Arrow keys go from one to the next. */
export function Columns({ label, columns, ticks, scale, onPoint, children }: ColumnsProps) {
  const firstStop = columns.findIndex(({ to }) => to !== null);
  return (
    <div class={styles.chart}>
      <div class={styles.scale} aria-hidden="true">
        {scale.map((text, index) => (
          <span key={index}>{text}</span>
        ))}
      </div>
      <div
        class={styles.columns}
        role="group"
        aria-label={label}
        onPointerLeave={() => onPoint(null)}
        onFocusOut={() => onPoint(null)}
        {...stops}
      >
        {columns.map(({ key, to, label: words, content }, index) => {
          const point = () => onPoint(index);
          if (to === null) return <span key={key} class={styles.column} onPointerEnter={point} />;
          return (
            <Link
              key={key}
              to={to}
              class={classes(styles.column, styles.link)}
              tabIndex={index === firstStop ? 0 : -1}
              aria-label={words}
              onFocus={point}
              onPointerEnter={point}
            >
              {content}
            </Link>
          );
        })}
        {children}
      </div>
      <div class={styles.ticks} aria-hidden="true">
        {ticks.map(({ at, text }) => (
          <span key={at} class={styles.tick} style={tickPlace(at)}>
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}
