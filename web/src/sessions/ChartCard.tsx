import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { ProblemText } from "../design/Phrase";
import type { Problem } from "../kernel/problem";
import styles from "./ChartCard.module.css";

interface ChartCardProps {
  readonly title: string;
  /** What it shows, where the title leaves it open. */
  readonly meaning?: string;
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function ChartCard({ title, meaning, tools, children }: ChartCardProps) {
  const id = useId();
  return (
    <section class={styles.card} aria-labelledby={id}>
      <div class={styles.head}>
        <div>
          <h2 id={id} class={styles.title}>
            {title}
          </h2>
          {meaning && <p class={styles.meaning}>{meaning}</p>}
        </div>
        {tools}
      </div>
      {children}
    </section>
  );
}

/** In the place of a chart: it is on its way, it did not come, or there is nothing to draw. */
export function ChartBlank({ problem, children }: { readonly problem?: Problem | null; readonly children?: string }) {
  if (problem)
    return (
      <p class={styles.quiet} role="alert">
        <ProblemText problem={problem} />
      </p>
    );
  if (children === undefined) return <div class={styles.blank} role="status" aria-label="Loading" />;
  return <p class={styles.quiet}>{children}</p>;
}
