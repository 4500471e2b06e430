import styles from "./Happenings.module.css";
import type { SessionDetail } from "./model";
import { happeningsOf, momentOf, sinceStart } from "./drawing";

/** All that the drawing shows, in words and in order. */
export function Happenings({ session }: { readonly session: SessionDetail }) {
  const from = momentOf(session.sessionStartTs);
  return (
    <div class={styles.frame} tabIndex={0} role="group" aria-label="What happened, in order">
      <table class={styles.table}>
        <thead>
          <tr>
            <th scope="col">After</th>
            <th scope="col">Where</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {happeningsOf(session).map(({ ts, what, where }, index) => (
            <tr key={index}>
              <td class={styles.when} title={new Date(ts).toISOString()}>
                {sinceStart(ts, from)}
              </td>
              <td class={styles.where}>{where}</td>
              <td class={styles.what}>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
