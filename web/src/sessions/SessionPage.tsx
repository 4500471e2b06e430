import { WorkflowSessionDocument } from "../api/generated";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { SESSIONS_PATH } from "../app/routes";
import { Notice, ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { Section } from "../jobs/Section";
import { StateChip } from "../library/StateChip";
import { Happenings } from "./Happenings";
import type { SessionDetail } from "./model";
import { ParameterChanges } from "./ParameterChanges";
import { SessionFacts } from "./SessionFacts";
import styles from "./SessionPage.module.css";
import { OwnLinks } from "./SessionRow";
import { Timeline } from "./Timeline";
import { useReading } from "./useReading";
import { outcomeState, sessionName, typeWords } from "./words";

/** One session with all that is known of it. */
export function SessionPage({ sessionId }: { readonly sessionId: string }) {
  const reading = useReading((request) => request(WorkflowSessionDocument, { id: sessionId }), [sessionId]);
  return (
    <>
      <nav class={styles.path} aria-label="Breadcrumb">
        <Link to={SESSIONS_PATH}>Sessions</Link>
      </nav>
      <Content reading={reading} />
    </>
  );
}

function Content({ reading }: { readonly reading: ReturnType<typeof useReading<Answer>> }) {
  const answer = reading.answer.value;
  const problem = reading.problem.value;
  if (answer === null && problem !== null)
    return (
      <>
        <PageTitle name="Session" hidden />
        <ProblemNotice problem={problem} onRetry={() => void reading.again()} />
      </>
    );
  if (answer === null)
    return (
      <>
        <PageTitle name="Session" hidden />
        <div class={styles.blank} role="status" aria-label="Loading" />
      </>
    );
  if (answer.workflowSession === null)
    return (
      <>
        <PageTitle name="Not found" hidden />
        <Notice icon="alert" title="Session not found">
          Check the link, or search for it in the list of sessions.
        </Notice>
      </>
    );
  return <Everything session={answer.workflowSession} />;
}

interface Answer {
  readonly workflowSession: SessionDetail | null;
}

function Everything({ session }: { readonly session: SessionDetail }) {
  return (
    <>
      <PageTitle name={sessionName(session)} class={styles.title} />
      <p class={look.facts}>
        <span>{typeWords(session.workflowType)}</span>
        <OwnLinks session={session} />
      </p>
      <div class={styles.state}>
        <StateChip state={outcomeState(session.progress)} />
      </div>
      <SessionFacts session={session} />
      <Section title="Timeline" all={null}>
        <Timeline session={session} />
      </Section>
      {session.parameterUpdates.length > 0 && (
        <Section title="Parameter changes" all={null}>
          <ParameterChanges session={session} />
        </Section>
      )}
      <Section title="What happened" all={null}>
        <Happenings session={session} />
      </Section>
    </>
  );
}
