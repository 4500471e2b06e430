import type { ParameterUpdate, SessionDetail } from "./model";
import styles from "./ParameterChanges.module.css";
import { momentOf, sinceStart } from "./drawing";
import { capital, formatFigure } from "./words";

/** Each change with what it did to frames and jitter. */
export function ParameterChanges({ session }: { readonly session: SessionDetail }) {
  const from = momentOf(session.sessionStartTs);
  return (
    <ol class={styles.changes}>
      {session.parameterUpdates.map((update, index) => (
        <li key={index} class={styles.change}>
          <p class={styles.what}>
            <strong>{sinceStart(momentOf(update.updateTs), from)}</strong>
            <span class={styles.quiet}>{`${capital(update.eventType)}, segment ${update.segmentIndex + 1}`}</span>
          </p>
          <Effect update={update} />
          {update.params !== null && (
            <details>
              <summary>Parameters</summary>
              <pre class={styles.document} tabIndex={0}>
                {documentOf(update.params)}
              </pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function Effect({ update }: { readonly update: ParameterUpdate }) {
  const { fpsBefore, fpsAfter, jitterBefore, jitterAfter, windowSeconds } = update;
  return (
    <div class={styles.effect}>
      <dl class={styles.figures}>
        <div>
          <dt>FPS</dt>
          <dd>{`${formatFigure(fpsBefore, "")} → ${formatFigure(fpsAfter, "")}`}</dd>
        </div>
        <div>
          <dt>Jitter</dt>
          <dd>{`${formatFigure(jitterBefore, "ms")} → ${formatFigure(jitterAfter, "ms")}`}</dd>
        </div>
      </dl>
      <p class={styles.quiet}>{`means of ${windowSeconds} s before and after`}</p>
    </div>
  );
}

/** Set out over lines where it is JSON. */
function documentOf(params: string): string {
  try {
    return JSON.stringify(JSON.parse(params), null, 2);
  } catch {
    return params;
  }
}
