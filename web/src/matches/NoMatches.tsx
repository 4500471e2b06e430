import { Notice } from "../design/Notice";
import styles from "./NoMatches.module.css";

/** Before anything is watched: how to begin. */
export function NoMatches() {
  return (
    <div class={styles.empty}>
      <Notice icon="ball" title="No matches are watched yet">
        <p>
          Set <code>watch.enabled</code> to <code>true</code> and start again: the matches of the day appear here, each
          goal with its best videos, while they are played.
        </p>
        <p>
          To see it without any account, run <code>touchline demo</code>: it plays a match day of its own.
        </p>
      </Notice>
    </div>
  );
}
