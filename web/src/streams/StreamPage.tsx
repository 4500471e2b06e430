import { useEffect, useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { LIVE_PATH } from "../app/routes";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { ClipList } from "../clips/ClipList";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { now } from "../kernel/clock";
import { StateChip } from "../library/StateChip";
import { Player } from "../player/Player";
import { createWatch } from "../player/watch";
import { isPlayable, isPublished, type Stream } from "./model";
import { Recordings } from "./Recordings";
import { createStream, type StreamSource, type StreamView } from "./stream";
import { StreamActs } from "./StreamActs";
import styles from "./StreamPage.module.css";
import { measured, sinceWords, streamState } from "./words";

/** One stream: watched, recorded, clipped and looked after. */
export function StreamPage({ streamId }: { readonly streamId: string }) {
  const { streamFeed, recordingFeed } = useWorkspace();
  const source = useSource(streamFeed, (request, ends) => createStream(request, streamId, ends), [streamId]);
  useEffect(() => recordingFeed.listen({ onEvent: source.refresh, onGap: source.refresh }), [source]);
  return (
    <>
      <nav class={styles.path} aria-label="Where you are">
        <Link to={LIVE_PATH}>Live</Link>
      </nav>
      <Content source={source} />
    </>
  );
}

function Content({ source }: { readonly source: StreamSource }) {
  const view = source.view.value;
  const loading = source.loading.value;
  if (view === null) {
    return (
      <>
        <PageTitle name="Stream" hidden />
        {loading.kind === "failed" ? (
          <ProblemNotice problem={loading.problem} onRetry={() => void source.load()} />
        ) : (
          <div class={styles.blank} role="status" aria-label="Loading" />
        )}
      </>
    );
  }
  if (view.stream === null) {
    return (
      <>
        <PageTitle name="Not found" hidden />
        <Notice icon="broadcast" title="Stream not found">
          It may have been deleted, or the link is incomplete. Recordings and clips of deleted streams are in the
          library.
        </Notice>
      </>
    );
  }
  return <Shown stream={view.stream} view={view} source={source} />;
}

interface ShownProps {
  readonly stream: Stream;
  readonly view: StreamView;
  readonly source: StreamSource;
}

function Shown({ stream, view, source }: ShownProps) {
  const { streamId, title, health, problem } = stream;
  return (
    <>
      {isPlayable(stream) ? <LivePicture key={stream.liveSince} stream={stream} /> : <NoPicture stream={stream} />}
      <div class={styles.head}>
        <PageTitle name={title} class={styles.title} />
        <StateChip state={streamState(stream)} />
      </div>
      <p class={styles.since}>
        {sinceWords(stream, now.value)}
        {stream.record && " · recorded whenever it is live"}
      </p>
      {problem !== null && (
        <p class={styles.problem} role="alert">
          <strong>The encoder was refused.</strong> <Phrase text={problem} />
        </p>
      )}
      <StreamActs stream={stream} recordings={view.recordings} onAct={source.refresh} />
      {isPublished(stream) && health !== null && (
        <dl class={styles.health} aria-label="Health">
          {measured(health).map(({ name, value, warning }) => (
            <div key={name} class={styles.figure}>
              <dt>{name}</dt>
              <dd>{value}</dd>
              {warning !== null && <dd class={styles.warning}>{warning}</dd>}
            </div>
          ))}
        </dl>
      )}
      <Recordings recordings={view.recordings} count={view.recordingCount} onAct={source.refresh} />
      <ClipList streamId={streamId} />
    </>
  );
}

/** Addresses are asked for once a session, and again when they have expired. */
function LivePicture({ stream }: { readonly stream: Stream }) {
  const { request } = useWorkspace();
  const watch = useMemo(() => createWatch(request, stream.playbackId), []);
  useEffect(() => void watch.load(), []);
  const state = watch.state.value;
  const playback = state.kind === "playable" ? state.playback : null;
  const live = useMemo(() => (playback === null ? null : { ...playback, posterUrl: null, isLive: true }), [playback]);
  if (live !== null) {
    return <Player playback={live} title={stream.title} startMs={0} onExpired={() => void watch.load()} />;
  }
  if (state.kind === "loading") return <div class={styles.blank} role="status" aria-label="Loading" />;
  return "problem" in state ? <ProblemNotice problem={state.problem} onRetry={() => void watch.load()} /> : null;
}

const NO_PICTURE: Record<string, { readonly title: string; readonly text: string }> = {
  starting: { title: "The stream begins", text: "The encoder is connected. The picture appears in a moment." },
  suspended: { title: "This stream is suspended", text: "Its key is refused until it is resumed." },
};
const OFFLINE = {
  title: "Nobody publishes now",
  text: "Start streaming in your encoder with the server and key of this stream; the picture appears here by itself. The key was lost? Make a new one.",
};

function NoPicture({ stream: { state } }: { readonly stream: Stream }) {
  const { title, text } = NO_PICTURE[state] ?? OFFLINE;
  return (
    <div class={styles.offline}>
      <Notice icon="broadcast" title={title}>
        {text}
      </Notice>
    </div>
  );
}
