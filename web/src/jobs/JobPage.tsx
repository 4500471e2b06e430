import { useSignal } from "@preact/signals";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { jobPath, watchPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { now } from "../kernel/clock";
import { StateChip } from "../library/StateChip";
import { retryJobs } from "./acts";
import { CancelDialog } from "./CancelDialog";
import { createDetail, type Detail, type Shown } from "./detail";
import { JobHistory } from "./JobHistory";
import styles from "./JobPage.module.css";
import { PriorityChoice } from "./PriorityChoice";
import { canCancel, canRetry, isCancelled } from "./rules";
import { Section } from "./Section";
import { useFeed } from "./useFeed";
import { jobState, retryWords, subjectOf, timeLeft, typeWords } from "./words";

export function JobPage({ jobId }: { readonly jobId: string }) {
  const detail = useFeed((request, ends) => createDetail(request, jobId, ends), [jobId]);
  return (
    <>
      <nav class={styles.path} aria-label="Breadcrumb">
        <Link to="/jobs">Jobs</Link>
      </nav>
      <Content detail={detail} />
    </>
  );
}

function Content({ detail }: { readonly detail: Detail }) {
  const state = detail.state.value;
  switch (state.kind) {
    case "loading":
      return (
        <>
          <PageTitle name="Job" hidden />
          <div class={styles.blank} role="status" aria-label="Loading" />
        </>
      );
    case "missing":
      return (
        <>
          <PageTitle name="Not found" hidden />
          <Notice icon="alert" title="Job not found">
            Check the link, or search for it in the list of jobs.
          </Notice>
        </>
      );
    case "failed":
      return (
        <>
          <PageTitle name="Job" hidden />
          <ProblemNotice problem={state.problem} onRetry={() => void detail.load()} />
        </>
      );
    case "shown":
      return <Everything job={state.job} detail={detail} />;
  }
}

function Everything({ job, detail }: { readonly job: Shown; readonly detail: Detail }) {
  const left = timeLeft(job, Math.max(now.value, job.estimate?.at ?? 0));
  const retry = retryWords(job);
  return (
    <>
      <div class={styles.head}>
        <div class={styles.words}>
          <PageTitle name={typeWords(job.jobType)} class={styles.title} />
          <p class={styles.video}>
            <Subject job={job} />
          </p>
        </div>
        <Acts job={job} detail={detail} />
      </div>
      <div class={styles.state}>
        <StateChip state={jobState(job)} />
        {(left || retry) && <span class={styles.left}>{left || retry}</span>}
      </div>
      {job.error && (
        <div class={classes(styles.error, isCancelled(job.error.type, job.error.message) && styles.quiet)}>
          <strong>{job.error.type}</strong>
          <p>
            <Phrase text={job.error.message} />
          </p>
        </div>
      )}
      <Facts job={job} />
      <Section title="History" all={null}>
        <JobHistory steps={job.history} />
      </Section>
      <Section title="Payload" all={null}>
        <Document content={job.payload} />
      </Section>
      {job.result !== null && (
        <Section title="Result" all={null}>
          <Document content={job.result} />
        </Section>
      )}
    </>
  );
}

/** A job that cuts a clip is about the clip; that one may be gone while its video is not. */
function Subject({ job }: { readonly job: Shown }) {
  const subject = subjectOf(job);
  const isWithoutClip = job.jobType === "clip_generate" && job.clip === null;
  return (
    <>
      {isWithoutClip && "Its clip was deleted. "}
      {subject !== null && <Link to={watchPath(subject.playbackId)}>{subject.title}</Link>}
      {subject === null && !isWithoutClip && "Its video was deleted."}
    </>
  );
}

function Acts({ job, detail }: { readonly job: Shown; readonly detail: Detail }) {
  const { request, mayChange } = useWorkspace();
  const asking = useSignal(false);
  if (!mayChange) return null;
  const retry = () => void retryJobs(request, { ids: [job.id] }).then(detail.refresh);
  return (
    <div class={styles.acts}>
      {canCancel(job) && <PriorityChoice job={job} onAct={detail.refresh} />}
      {canRetry(job) && (
        <Button icon="replay" look="primary" onClick={retry}>
          Retry
        </Button>
      )}
      {canCancel(job) && (
        <Button icon="close" onClick={() => (asking.value = true)}>
          Cancel
        </Button>
      )}
      {asking.value && <CancelDialog job={job} onClose={() => (asking.value = false)} onAct={detail.refresh} />}
    </div>
  );
}

function Facts({ job }: { readonly job: Shown }) {
  return (
    <dl class={styles.facts}>
      <Fact name="Id">
        <code>{job.id}</code>
      </Fact>
      <Fact name="Enqueued">
        <Age since={job.createdAt} />
      </Fact>
      {job.startedAt !== null && (
        <Fact name="Last started">
          <Age since={job.startedAt} />
        </Fact>
      )}
      {job.finishedAt !== null && (
        <Fact name="Ended">
          <Age since={job.finishedAt} />
        </Fact>
      )}
      <Fact name="Runs">{job.attempt}</Fact>
      <Fact name="Retries">{`${job.retryCount} of ${job.maxRetries}`}</Fact>
      <Fact name="Priority">{job.priority}</Fact>
      {job.worker !== null && <Fact name="Worker">{job.worker}</Fact>}
      {job.dependsOn !== null && (
        <Fact name="Waits for">
          <Link to={jobPath(job.dependsOn)}>another job</Link>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Document({ content }: { readonly content: unknown }) {
  return (
    <pre class={styles.document} tabIndex={0}>
      {JSON.stringify(content, null, 2)}
    </pre>
  );
}
