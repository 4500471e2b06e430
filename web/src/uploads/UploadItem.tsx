import { Link } from "../app/Link";
import { watchPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Button, IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { ProblemText } from "../design/Phrase";
import { ProgressBar } from "../design/ProgressBar";
import { canCancel, canRetry, type Upload } from "./machine";
import { UploadButton } from "./UploadButton";
import styles from "./UploadItem.module.css";
import { barOf, progressWords } from "./words";

export function UploadItem({ upload }: { readonly upload: Upload }) {
  const { uploads } = useWorkspace();
  const bar = barOf(upload);
  return (
    <li class={styles.item}>
      <div class={styles.words}>
        <p class={styles.name} title={upload.fileName}>
          {upload.fileName}
        </p>
        {upload.problem ? (
          <p class={classes(styles.line, styles.problem)} role="alert">
            <ProblemText problem={upload.problem} />
          </p>
        ) : (
          <p class={styles.line}>{progressWords(upload)}</p>
        )}
        {bar && <ProgressBar percent={bar.percent} label={`Upload of ${upload.fileName}`} />}
        <Actions upload={upload} />
      </div>
      {canCancel(upload) && (
        <IconButton
          icon="close"
          label={`${cancelWord(upload)} ${upload.fileName}`}
          onClick={() => void uploads.cancel(upload.id)}
        />
      )}
      {upload.phase === "done" && upload.playbackId !== null && (
        <Link class={styles.open} to={watchPath(upload.playbackId)} aria-label={`Open ${upload.fileName}`}>
          Open
        </Link>
      )}
    </li>
  );
}

function Actions({ upload }: { readonly upload: Upload }) {
  const { uploads } = useWorkspace();
  if (upload.phase === "interrupted") {
    return (
      <div class={styles.actions}>
        <UploadButton label="Choose file" look="quiet" />
      </div>
    );
  }
  if (!canRetry(upload)) return null;
  return (
    <div class={styles.actions}>
      <Button icon="replay" onClick={() => uploads.retry(upload.id)}>
        Try again
      </Button>
    </div>
  );
}

function cancelWord({ phase }: Upload): string {
  return phase === "failed" || phase === "interrupted" ? "Discard" : "Cancel";
}
