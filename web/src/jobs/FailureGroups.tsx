import { useSignal } from "@preact/signals";
import { Link } from "../app/Link";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { Phrase } from "../design/Phrase";
import { plural } from "../kernel/format";
import { retryJobs } from "./acts";
import styles from "./FailureGroups.module.css";
import { jobsPath } from "./filters";
import type { JobFailure } from "./model";
import { isOnPurpose } from "./rules";
import { typeWords } from "./words";

interface FailureGroupsProps {
  readonly failures: readonly JobFailure[];
  readonly onAct: () => void;
}

export function FailureGroups({ failures, onAct }: FailureGroupsProps) {
  return (
    <ul class={styles.groups}>
      {failures.map((failure) => (
        <Group key={`${failure.jobType} ${failure.errorType}`} failure={failure} onAct={onAct} />
      ))}
    </ul>
  );
}

function Group({ failure, onAct }: { readonly failure: JobFailure; readonly onAct: () => void }) {
  const { jobType, errorType, count, example, latestAt } = failure;
  const name = `${typeWords(jobType)}: ${errorType}`;
  return (
    <li class={classes(styles.group, isOnPurpose(failure) && styles.quiet)}>
      <span class={styles.count} aria-hidden="true">
        {count.toLocaleString("en")}
      </span>
      <div class={styles.words}>
        <Link to={jobsPath({ status: "failed", jobType, cause: errorType })} class={styles.name}>
          {name}
        </Link>
        <p class={styles.facts}>
          {plural(count, "job")} · last <Age since={latestAt} />
        </p>
        <p class={styles.example}>
          <Phrase text={example} />
        </p>
      </div>
      <RetryAll failure={failure} name={name} onAct={onAct} />
    </li>
  );
}

interface RetryAllProps {
  readonly failure: JobFailure;
  readonly name: string;
  readonly onAct: () => void;
}

function RetryAll({ failure, name, onAct }: RetryAllProps) {
  const { request, mayChange } = useWorkspace();
  const busy = useSignal(false);
  const { jobType, errorType } = failure;
  if (errorType === "ParentFailed") return <p class={styles.note}>Retried together with the job that it depends on.</p>;
  if (!mayChange) return null;
  const retry = async () => {
    busy.value = true;
    await retryJobs(request, { cause: { jobType, errorType } });
    busy.value = false;
    onAct();
  };
  return (
    <Button icon="replay" disabled={busy.value} aria-label={`Retry all: ${name}`} onClick={() => void retry()}>
      Retry all
    </Button>
  );
}
