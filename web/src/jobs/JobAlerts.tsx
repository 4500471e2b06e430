import { Age } from "../design/Age";
import { Icon } from "../design/Icon";
import styles from "./JobAlerts.module.css";
import type { JobAlert } from "./model";
import { alertWords } from "./words";

export function JobAlerts({ alerts }: { readonly alerts: readonly JobAlert[] }) {
  return (
    <ul class={styles.alerts} role="status" aria-label="Alerts">
      {alerts.map((alert) => (
        <li key={`${alert.kind} ${alert.jobType}`} class={styles.alert}>
          <Icon name="alert" size={18} />
          <span>
            {alertWords(alert)}
            <span class={styles.since}>
              <Age since={alert.changedAt} />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
