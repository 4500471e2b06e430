import { useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { jobPath, sessionPath, streamPath, watchPath } from "../app/routes";
import { Age } from "../design/Age";
import { look, Row } from "../design/Row";
import { formatDuration, plural } from "../kernel/format";
import { StateChip } from "../library/StateChip";
import type { Session } from "./model";
import styles from "./SessionRow.module.css";
import { formatMs, outcomeState, sessionName, shortAddress, typeWords } from "./words";

export function SessionRow({ session }: { readonly session: Session }) {
  return useMemo(
    () => (
      <Row class={styles.row}>
        <div class={look.words}>
          <Link to={sessionPath(session.id)} class={look.title}>
            {sessionName(session)}
          </Link>
          <Facts session={session} />
        </div>
        <dl class={styles.latencies}>
          <Latency name="Startup" value={session.startupMs} />
          <Latency name="End to end" value={session.e2eProxyMs} />
          <Latency name="Playable" value={session.promptToPlayableMs} />
        </dl>
        <StateChip state={outcomeState(session.progress)} />
      </Row>
    ),
    [session],
  );
}

function Facts({ session }: { readonly session: Session }) {
  const { workflowType, sessionStartTs, sessionEndTs, modelId, gateway, orchestratorAddress } = session;
  return (
    <p class={look.facts}>
      <span>
        <Age since={sessionStartTs} />
      </span>
      <span>{typeWords(workflowType)}</span>
      <span>{formatDuration(Date.parse(sessionEndTs) - Date.parse(sessionStartTs))}</span>
      {modelId && <span>{modelId}</span>}
      {orchestratorAddress && <span title={orchestratorAddress}>{shortAddress(orchestratorAddress)}</span>}
      {gateway && <span>{gateway}</span>}
      <OwnLinks session={session} />
      {session.swapCount > 0 && <span>{plural(session.swapCount, "swap")}</span>}
      {session.errorCount > 0 && <span class={styles.errors}>{plural(session.errorCount, "error")}</span>}
      {!session.isFinal && <span>not final yet</span>}
    </p>
  );
}

/** From our own work to what it was done for. */
export function OwnLinks({ session }: { readonly session: Pick<Session, "video" | "stream" | "jobId"> }) {
  return (
    <>
      {session.video && (
        <span>
          <Link to={watchPath(session.video.playbackId)}>Video</Link>
        </span>
      )}
      {session.stream && (
        <span>
          <Link to={streamPath(session.stream.streamId)}>Stream</Link>
        </span>
      )}
      {session.jobId && (
        <span>
          <Link to={jobPath(session.jobId)}>Job</Link>
        </span>
      )}
    </>
  );
}

function Latency({ name, value }: { readonly name: string; readonly value: number | null }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{formatMs(value)}</dd>
    </div>
  );
}
