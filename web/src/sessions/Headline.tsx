import { Link } from "../app/Link";
import styles from "./Headline.module.css";
import type { Question, Summary } from "./model";
import { figuresOf } from "./series";

/** The figures of all that is asked for. Each leads to its rows. */
export function Headline({ summary, question }: { readonly summary: Summary | null; readonly question: Question }) {
  if (summary === null)
    return (
      <div class={styles.figures} role="status" aria-label="Loading figures">
        {Array.from({ length: 7 }, (_, index) => (
          <div key={index} class={styles.blank} />
        ))}
      </div>
    );
  return (
    <ul class={styles.figures} aria-label="Figures">
      {figuresOf(summary, question).map(({ name, value, note, to }) => (
        <li key={name} class={styles.figure}>
          <Link to={to} class={styles.link}>
            {name}
          </Link>
          <strong class={styles.value}>{value}</strong>
          <span class={styles.note}>{note}</span>
        </li>
      ))}
    </ul>
  );
}
