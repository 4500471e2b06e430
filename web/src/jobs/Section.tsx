import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Link } from "../app/Link";
import styles from "./Section.module.css";

interface SectionProps {
  readonly title: string;
  /** Where all of it is, when this is only the beginning. */
  readonly all: string | null;
  readonly children: ComponentChildren;
}

export function Section({ title, all, children }: SectionProps) {
  const id = useId();
  return (
    <section class={styles.section} aria-labelledby={id}>
      <div class={styles.head}>
        <h2 id={id} class={styles.title}>
          {title}
        </h2>
        {all !== null && (
          <Link to={all} class={styles.all} aria-label={`Show all: ${title}`}>
            Show all
          </Link>
        )}
      </div>
      {children}
    </section>
  );
}
