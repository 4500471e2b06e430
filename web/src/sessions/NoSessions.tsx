import { SessionSpanDocument } from "../api/generated";
import { navigate } from "../app/router";
import { Button } from "../design/Button";
import { Notice } from "../design/Notice";
import { now } from "../kernel/clock";
import { formatAge } from "../kernel/format";
import { dayUntil, filtersInUse, sessionsPath } from "./address";
import type { Question } from "./model";
import styles from "./NoSessions.module.css";
import { useReading } from "./useReading";

/** Why there are none, and how to have some. */
export function NoSessions({ question }: { readonly question: Question }) {
  const span = useReading((request) => request(SessionSpanDocument, {}), []).answer.value?.sessionSpan ?? null;
  const isNarrow = filtersInUse(question).length > 0;
  const go = (next: Partial<Question>) => navigate(sessionsPath({ ...question, ...next }));
  return (
    <div class={styles.empty}>
      <Notice
        icon="chart"
        title={
          isNarrow ? "No sessions match these filters" : span ? "No sessions in this time range" : "No sessions yet"
        }
        actions={
          (isNarrow || span) && (
            <>
              {isNarrow && <Button onClick={() => go({ filters: {} })}>Remove filters</Button>}
              {span && (
                <Button onClick={() => go({ range: dayUntil(Date.parse(span.last)), filters: {} })}>
                  Show the last sessions
                </Button>
              )}
            </>
          )
        }
      >
        {span && <p>The last session started {formatAge(span.last, now.value)}.</p>}
        <p>
          Send events to <code>POST /events</code>, or import a file with <code>touchline events import FILE</code>.
          Touchline’s own sessions appear automatically: uploads, conversions, text recognition and goal searches.
        </p>
      </Notice>
    </div>
  );
}
