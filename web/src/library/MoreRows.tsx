import { useEffect, useRef } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { ProblemText } from "../design/Phrase";
import styles from "./MoreRows.module.css";

/** The end of the rows. Coming near it loads the next page; the button is for when that is not enough. */
export function MoreRows() {
  const { library } = useWorkspace();
  const end = useRef<HTMLDivElement>(null);
  const isComplete = library.complete.value;
  const count = library.videos.value.length;
  useEffect(() => {
    if (end.current === null || isComplete) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const isNear = entries.some(({ isIntersecting }) => isIntersecting);
        if (isNear && library.more.peek().kind !== "failed") void library.loadMore();
      },
      { rootMargin: "600px" },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isComplete, count]); // observed anew after each page: its end may still be in sight
  if (isComplete) return null;
  const more = library.more.value;
  return (
    <div ref={end} class={styles.more}>
      {more.kind === "failed" && (
        <p role="alert">
          <ProblemText problem={more.problem} />
        </p>
      )}
      <Button disabled={more.kind === "loading"} onClick={() => void library.loadMore()}>
        {more.kind === "loading" ? "Loading …" : "Show more"}
      </Button>
    </div>
  );
}
