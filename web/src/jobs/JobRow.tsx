import { useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { jobPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { Phrase } from "../design/Phrase";
import { look, Row } from "../design/Row";
import { now } from "../kernel/clock";
import { StateChip } from "../library/StateChip";
import { retryJobs } from "./acts";
import styles from "./JobRow.module.css";
import type { Job } from "./model";
import { canCancel, canRetry, isCancelled } from "./rules";
import { jobState, nameOf, retryWords, timeLeft } from "./words";

interface JobRowProps {
  readonly job: Job;
  readonly onCancel: (job: Job) => void;
  readonly onAct: () => void;
}

/** A row that nothing has happened to is not compared again. */
export function JobRow({ job, onCancel, onAct }: JobRowProps) {
  const { request, mayChange } = useWorkspace();
  const left = timeLeft(job, Math.max(now.value, job.estimate?.at ?? 0));
  return useMemo(() => {
    const name = nameOf(job);
    const retry = () => void retryJobs(request, { ids: [job.id] }).then(onAct);
    return (
      <Row class={styles.row}>
        <div class={look.words}>
          <Link to={jobPath(job.id)} class={look.title}>
            {name}
          </Link>
          <Facts job={job} />
          {job.error && job.status !== "done" && (
            <p
              class={classes(isCancelled(job.error.type, job.error.message) ? look.facts : look.failure, styles.error)}
            >
              <Phrase text={`${job.error.type}: ${job.error.message}`} />
            </p>
          )}
        </div>
        <div class={styles.state}>
          <StateChip state={jobState(job)} />
          {left && <span class={styles.left}>{left}</span>}
        </div>
        {mayChange && (
          <div class={classes(look.above, styles.acts)}>
            {canRetry(job) && <IconButton icon="replay" label={`Retry ${name}`} onClick={retry} />}
            {canCancel(job) && <IconButton icon="close" label={`Cancel ${name}`} onClick={() => onCancel(job)} />}
          </div>
        )}
      </Row>
    );
  }, [job, left, mayChange, onCancel, onAct]);
}

function Facts({ job }: { readonly job: Job }) {
  const retry = retryWords(job);
  return (
    <p class={look.facts}>
      <When job={job} />
      {job.priority !== 0 && <span>Priority {job.priority}</span>}
      {retry && <span>{retry}</span>}
    </p>
  );
}

function When({ job }: { readonly job: Job }) {
  const [word, since] =
    job.status === "queued"
      ? ["Enqueued", job.createdAt]
      : job.status === "processing"
        ? ["Started", job.startedAt]
        : ["Ended", job.finishedAt];
  return (
    <span>
      {word} <Age since={since ?? job.createdAt} />
    </span>
  );
}
