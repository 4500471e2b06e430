import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Loading } from "../kernel/loading";
import { Button } from "./Button";
import styles from "./MoreRows.module.css";
import { ProblemText } from "./Phrase";

interface MoreRowsProps {
  readonly complete: boolean;
  /** How many rows are there. */
  readonly count: number;
  readonly more: ReadonlySignal<Loading>;
  readonly onMore: () => void;
}

/** The end of the rows. Coming near it loads the next page; the button is for when that is not enough. */
export function MoreRows({ complete, count, more, onMore }: MoreRowsProps) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (end.current === null || complete) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const isNear = entries.some(({ isIntersecting }) => isIntersecting);
        if (isNear && more.peek().kind !== "failed") onMore();
      },
      { rootMargin: "600px" },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [complete, count]); // observed anew after each page: its end may still be in sight
  if (complete) return null;
  const state = more.value;
  return (
    <div ref={end} class={styles.more}>
      {state.kind === "failed" && (
        <p role="alert">
          <ProblemText problem={state.problem} />
        </p>
      )}
      <Button disabled={state.kind === "loading"} onClick={onMore}>
        {state.kind === "loading" ? "Loading …" : "Show more"}
      </Button>
    </div>
  );
}
