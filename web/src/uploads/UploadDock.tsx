import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useWorkspace } from "../app/workspace";
import { Button, IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { ProgressBar } from "../design/ProgressBar";
import { isUnderWay } from "./machine";
import styles from "./UploadDock.module.css";
import { UploadItem } from "./UploadItem";
import { summaryWords, totalPercent } from "./words";

/** The queue, at the edge of every page: an upload goes on while its owner watches something. */
export function UploadDock() {
  const { uploads } = useWorkspace();
  const folded = useSignal(false);
  const queue = uploads.queue.value;
  const isBusy = useComputed(() => uploads.queue.value.some(isUnderWay));
  useSignalEffect(() => {
    if (!isBusy.value) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  });
  if (queue.length === 0) return null;
  return (
    <section class={styles.dock} aria-label="Uploads">
      <div class={styles.head}>
        <h2 class={styles.summary}>
          <span role="status">{summaryWords(queue)}</span>
        </h2>
        {queue.some(({ phase }) => phase === "done") && (
          <Button class={styles.clear} onClick={() => uploads.dismissDone()}>
            Clear finished
          </Button>
        )}
        <IconButton
          icon="chevron"
          label={folded.value ? "Show uploads" : "Hide uploads"}
          class={classes(folded.value && styles.up)}
          aria-expanded={!folded.value}
          onClick={() => (folded.value = !folded.value)}
        />
      </div>
      {folded.value && isBusy.value && <ProgressBar percent={totalPercent(queue)} label="All uploads" />}
      {!folded.value && (
        <ul class={styles.items}>
          {queue.map((upload) => (
            <UploadItem key={upload.id} upload={upload} />
          ))}
        </ul>
      )}
    </section>
  );
}
