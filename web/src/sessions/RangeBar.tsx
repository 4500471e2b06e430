import { useSignal } from "@preact/signals";
import { Link } from "../app/Link";
import { navigate } from "../app/router";
import { Button } from "../design/Button";
import { ownRange, sessionsPath } from "./address";
import { localInput, momentOfInput } from "./localTime";
import { SPANS, type Question } from "./model";
import styles from "./RangeBar.module.css";
import { SPAN_NAMES } from "./words";

/** Over what time. */
export function RangeBar({ question }: { readonly question: Question }) {
  const { range } = question;
  const asking = useSignal(false);
  const isOwn = range.span === "own";
  return (
    <div class={styles.bar}>
      <nav class={styles.spans} aria-label="Time">
        {SPANS.map((span) => (
          <Link
            key={span}
            to={sessionsPath({ ...question, range: { span } })}
            class={styles.span}
            current={range.span === span}
          >
            {SPAN_NAMES[span]}
          </Link>
        ))}
        <button
          type="button"
          class={styles.span}
          aria-expanded={asking.value || isOwn}
          aria-current={isOwn ? "page" : undefined}
          onClick={() => (asking.value = !asking.value)}
        >
          From – to
        </button>
      </nav>
      {(asking.value || isOwn) && <OwnRange key={sessionsPath(question)} question={question} />}
    </div>
  );
}

function OwnRange({ question }: { readonly question: Question }) {
  const { range } = question;
  const from = useSignal(range.span === "own" ? localInput(range.from) : "");
  const to = useSignal(range.span === "own" ? localInput(range.to) : "");
  const show = (event: Event) => {
    event.preventDefault();
    const own = ownRange(momentOfInput(from.value), momentOfInput(to.value));
    navigate(sessionsPath({ ...question, range: own }), { replace: true });
  };
  return (
    <form class={styles.own} onSubmit={show}>
      <label class={styles.field}>
        <span>From</span>
        <input
          type="datetime-local"
          step="1"
          value={from.value}
          onInput={({ currentTarget }) => (from.value = currentTarget.value)}
        />
      </label>
      <label class={styles.field}>
        <span>To</span>
        <input
          type="datetime-local"
          step="1"
          value={to.value}
          onInput={({ currentTarget }) => (to.value = currentTarget.value)}
        />
      </label>
      <Button type="submit" disabled={from.value === "" && to.value === ""}>
        Show
      </Button>
    </form>
  );
}
