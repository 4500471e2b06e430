import { Age } from "../design/Age";
import styles from "./JobHistory.module.css";
import type { JobDetail } from "./model";
import { actorWords, historyWords } from "./words";

/** Every step, the newest first: by whom, when and why. */
export function JobHistory({ steps }: { readonly steps: JobDetail["history"] }) {
  return (
    <ol class={styles.steps} reversed>
      {[...steps].reverse().map((step, index) => (
        <li key={steps.length - index} class={styles.step}>
          <p class={styles.what}>
            <strong>{historyWords(step.fromStatus, step.toStatus, step.reason)}</strong>
            <span class={styles.when}>
              <Age since={step.occurredAt} />
            </span>
          </p>
          <p class={styles.who}>
            by {actorWords(step.actor)}
            {step.toStatus !== "queued" && `, run ${step.attempt}`}
          </p>
          {step.reason && <p class={styles.why}>{step.reason}</p>}
        </li>
      ))}
    </ol>
  );
}
