import type { ComponentChildren } from "preact";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { STORAGE_PATH, watchPath } from "../app/routes";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { Notice, ProblemNotice } from "../design/Notice";
import { now } from "../kernel/clock";
import { formatBytes } from "../kernel/format";
import { StateChip } from "../library/StateChip";
import { undelete } from "./acts";
import { createHistory, type History, type HistoryState } from "./history";
import type { HistoryEvent, Stored } from "./model";
import styles from "./StoredPage.module.css";
import { usePin } from "./usePin";
import { actorWords, detailWords, endWords, eventWords, locationView, pinningWords } from "./words";

/** One artifact: where it is, until when, and its history. */
export function StoredPage({ artifactHash }: { readonly artifactHash: string }) {
  const { storageFeed } = useWorkspace();
  const history = useSource(storageFeed, (request, ends) => createHistory(request, artifactHash, ends), [artifactHash]);
  return (
    <>
      <nav class={styles.path} aria-label="Breadcrumb">
        <Link to={STORAGE_PATH}>Storage</Link>
      </nav>
      <Content history={history} artifactHash={artifactHash} />
    </>
  );
}

interface ContentProps {
  readonly history: History;
  readonly artifactHash: string;
}

function Content({ history, artifactHash }: ContentProps) {
  const state = history.state.value;
  switch (state.kind) {
    case "loading":
      return (
        <>
          <PageTitle name="Artifact" hidden />
          <div class={styles.blank} role="status" aria-label="Loading" />
        </>
      );
    case "failed":
      return (
        <>
          <PageTitle name="Artifact" hidden />
          <ProblemNotice problem={state.problem} onRetry={() => void history.load()} />
        </>
      );
    case "shown":
      return <Shown state={state} history={history} artifactHash={artifactHash} />;
  }
}

interface ShownProps extends ContentProps {
  readonly state: Extract<HistoryState, { kind: "shown" }>;
}

function Shown({ state: { stored, events, more }, history, artifactHash }: ShownProps) {
  if (stored === null && events.length === 0) {
    return (
      <>
        <PageTitle name="Not found" hidden />
        <Notice icon="alert" title="Artifact not found">
          Check the link, or search for it in the list of stored artifacts.
        </Notice>
      </>
    );
  }
  return (
    <>
      {stored === null ? (
        <PageTitle name={artifactHash} class={styles.title} />
      ) : (
        <Head stored={stored} onAct={history.refresh} />
      )}
      <h2 class={styles.heading}>History</h2>
      <Timeline events={events} />
      {more && (
        <p class={styles.more}>
          Earlier events are in the audit log: <code>touchline audit --artifact</code>.
        </p>
      )}
    </>
  );
}

function Head({ stored, onAct }: { readonly stored: Stored; readonly onAct: () => void }) {
  const { request, mayChange } = useWorkspace();
  const { wanted, toggle } = usePin(stored, onAct);
  const { title, artifactHash, artifactType, sizeBytes, createdAt, localCopies, playbackId, status } = stored;
  return (
    <>
      <div class={styles.head}>
        <PageTitle name={title === "" ? artifactHash : title} class={styles.title} />
        {mayChange && stored.canBeUndeleted && (
          <Button icon="replay" look="primary" onClick={() => void undelete(request, stored).then(onAct)}>
            Undelete
          </Button>
        )}
        {mayChange && stored.deletedAt === null && (
          <Button icon="pin" aria-busy={wanted !== null} onClick={toggle}>
            {stored.pinned ? "Unpin" : "Pin"}
          </Button>
        )}
      </div>
      <div class={styles.state}>
        <StateChip state={locationView(stored)} />
        <span class={styles.end}>{wanted === null ? endWords(stored, now.value) : pinningWords(wanted)}</span>
      </div>
      <dl class={styles.facts}>
        <Fact name="Kind">{artifactType}</Fact>
        {sizeBytes !== null && <Fact name="Size">{formatBytes(sizeBytes)}</Fact>}
        <Fact name="Copies on nodes">{localCopies}</Fact>
        <Fact name="Created">
          <Age since={createdAt} />
        </Fact>
        {status === "ready" && (
          <Fact name="Watch">
            <Link to={watchPath(playbackId)}>Open the player</Link>
          </Fact>
        )}
        <Fact name="Hash">
          <code>{artifactHash}</code>
        </Fact>
      </dl>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What happened, the newest first: by whom and when. */
function Timeline({ events }: { readonly events: readonly HistoryEvent[] }) {
  return (
    <ol class={styles.steps} reversed aria-label="History">
      {events.map((event, index) => (
        <li key={event.id} class={styles.step}>
          <p class={styles.what}>
            <strong>{eventWords(event, events.slice(index + 1))}</strong>
            <span class={styles.quiet}>
              <Age since={event.occurredAt} />
            </span>
          </p>
          <p class={styles.quiet}>{[actorWords(event), detailWords(event)].filter(Boolean).join(" · ")}</p>
        </li>
      ))}
    </ol>
  );
}
