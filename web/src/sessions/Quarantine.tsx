import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { ProblemText } from "../design/Phrase";
import { ChartBlank, ChartCard } from "./ChartCard";
import type { QuarantinedEvent } from "./model";
import { createQuarantine } from "./quarantined";
import styles from "./Quarantine.module.css";
import { useLived } from "./useReading";
import { reasonWords } from "./words";

/** What was set aside, as it came, of one reason or of any. Nothing of it is lost. */
export function Quarantine({ reason }: { readonly reason: string | null }) {
  const list = useLived((request, parts) => createQuarantine(request, reason, parts), [reason]);
  const events = list.events.value;
  const more = list.more.value;
  return (
    <ChartCard title="Quarantined events" meaning="They are kept. To process them again, run touchline events replay">
      {events === null && <ChartBlank problem={list.first.problem.value} />}
      {events?.length === 0 && (
        <p class={styles.none}>
          {reason === null ? "Every event could be read." : "No event was quarantined for this reason."}
        </p>
      )}
      <ul class={styles.events}>
        {events?.map((event) => (
          <Event key={event.id} event={event} />
        ))}
      </ul>
      {list.hasMore.value && (
        <div class={styles.more}>
          {more.kind === "failed" && (
            <p role="alert">
              <ProblemText problem={more.problem} />
            </p>
          )}
          <Button disabled={more.kind === "loading"} onClick={() => void list.loadMore()}>
            Show more
          </Button>
        </div>
      )}
    </ChartCard>
  );
}

function Event({ event }: { readonly event: QuarantinedEvent }) {
  return (
    <li class={styles.event}>
      <p class={styles.what}>
        <strong>{reasonWords(event.reason)}</strong>
        <span class={styles.when}>
          <Age since={event.receivedAt} />
        </span>
      </p>
      {event.detail !== "" && <p class={styles.detail}>{event.detail}</p>}
      <details>
        <summary>As received</summary>
        <pre class={styles.body} tabIndex={0}>
          {event.body}
        </pre>
      </details>
    </li>
  );
}
