import type { ComponentChildren } from "preact";
import { Link } from "../app/Link";
import { Age } from "../design/Age";
import { formatDate, formatDuration } from "../kernel/format";
import { sessionsPath } from "./address";
import type { Dimension, Metric, SessionDetail } from "./model";
import styles from "./SessionFacts.module.css";
import { capital, formatMs, METRIC_LABELS, METRIC_MEANINGS, shortAddress } from "./words";

export function SessionFacts({ session }: { readonly session: SessionDetail }) {
  const latencies: readonly (readonly [Metric, number | null])[] = [
    ["startup", session.startupMs],
    ["e2e", session.e2eProxyMs],
    ["playable", session.promptToPlayableMs],
    ["lag", session.gatewayRunnerLagMs],
  ];
  return (
    <>
      <dl class={styles.latencies} aria-label="Latencies">
        {latencies.map(([metric, value]) => (
          <div key={metric} title={METRIC_MEANINGS[metric]}>
            <dt>{METRIC_LABELS[metric]}</dt>
            <dd>{formatMs(value)}</dd>
          </div>
        ))}
      </dl>
      <dl class={styles.facts} aria-label="Facts">
        <When session={session} />
        <Where session={session} />
        <How session={session} />
      </dl>
    </>
  );
}

function When({ session }: { readonly session: SessionDetail }) {
  const { sessionStartTs, sessionEndTs, closedTs, isFinal } = session;
  return (
    <>
      <Fact name="Started" title={formatDate(sessionStartTs)}>
        <Age since={sessionStartTs} />
      </Fact>
      <Fact name="Length">{formatDuration(Date.parse(sessionEndTs) - Date.parse(sessionStartTs))}</Fact>
      <Fact name="State">{stateWords(closedTs, isFinal)}</Fact>
    </>
  );
}

function stateWords(closedTs: string | null, isFinal: boolean): string {
  if (closedTs !== null) return isFinal ? "Closed" : "Closed, events may still arrive";
  return isFinal ? "Never closed" : "Events may still arrive";
}

function Where({ session }: { readonly session: SessionDetail }) {
  const { gpuId, gpuAttributionMethod, gpuAttributionConfidence, orchestratorUrl } = session;
  const isAttributed = gpuAttributionConfidence > 0;
  return (
    <>
      <Thing name="Gateway" dimension="gateway" value={session.gateway} session={session} />
      <Thing name="Orchestrator" dimension="orchestrator" value={session.orchestratorAddress} session={session} />
      {orchestratorUrl && <Fact name="Orchestrator URL">{orchestratorUrl}</Fact>}
      <Thing name="Model" dimension="model" value={session.modelId} session={session} />
      <Thing name="GPU" dimension="gpu" value={gpuId} session={session} />
      {isAttributed && (
        <Fact name="GPU identified by">
          {`${capital(gpuAttributionMethod)}, ${Math.round(gpuAttributionConfidence * 100)}% confidence`}
        </Fact>
      )}
    </>
  );
}

function How({ session }: { readonly session: SessionDetail }) {
  const { swapCount, explicitSwapCount, orchestratorCount, errorCount, excusableErrorCount } = session;
  return (
    <>
      <Fact name="Swaps">
        {swapCount === 0 ? "None" : `${swapCount}, ${explicitSwapCount} announced, ${orchestratorCount} orchestrators`}
      </Fact>
      <Fact name="Errors">{errorCount === 0 ? "None" : `${errorCount}, ${excusableErrorCount} excusable`}</Fact>
      {session.excusablePatterns.length > 0 && <Fact name="Excused by">{session.excusablePatterns.join(", ")}</Fact>}
      {session.workflowId && <Fact name="Pipeline">{session.workflowId}</Fact>}
      {session.streamId && <Fact name="Stream">{session.streamId}</Fact>}
      {session.requestId && <Fact name="Request">{session.requestId}</Fact>}
      {session.qualityFlags.length > 0 && (
        <Fact name="Quality flags">{session.qualityFlags.map((flag) => capital(flag)).join(", ")}</Fact>
      )}
      <Fact name="Version">{`${session.version}, rules ${session.semanticsVersion}`}</Fact>
    </>
  );
}

interface ThingProps {
  readonly name: string;
  readonly dimension: Dimension;
  readonly value: string | null;
  readonly session: SessionDetail;
}

/** Leads to the sessions that share it, of the month around this one. */
function Thing({ name, dimension, value, session }: ThingProps) {
  if (value === null || value === "") return null;
  const start = Date.parse(session.sessionStartTs);
  const range = { span: "own", from: start - FORTNIGHT_MS, to: start + FORTNIGHT_MS } as const;
  return (
    <Fact name={name} title={value}>
      <Link to={sessionsPath({ view: "rows", range, filters: { [dimension]: value }, order: "latest" })}>
        {shortAddress(value)}
      </Link>
    </Fact>
  );
}

const FORTNIGHT_MS = 14 * 24 * 3_600_000;

interface FactProps {
  readonly name: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}

function Fact({ name, title = "", children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd {...(title === "" ? {} : { title })}>{children}</dd>
    </div>
  );
}
