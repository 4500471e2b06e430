import { useEffect, useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { useWorkspace } from "../app/workspace";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { VideoStages } from "../jobs/VideoStages";
import { StateChip } from "../library/StateChip";
import { stateView } from "../library/states";
import type { ClipEvent } from "../live/socket";
import { Player } from "./Player";
import { VideoFacts } from "./VideoFacts";
import { createWatch, titleNow, type Artifact, type Playback, type Watch } from "./watch";
import styles from "./WatchPage.module.css";

const STARTS_BY_ITSELF = "It starts automatically as soon as it is playable.";

interface WatchPageProps {
  readonly playbackId: string;
  readonly startMs: number;
}

export function WatchPage({ playbackId, startMs }: WatchPageProps) {
  const { request, library, clipFeed } = useWorkspace();
  const watch = useMemo(() => createWatch(request, playbackId), []);
  const settled = library.settled.value;
  useEffect(() => {
    if (watch.state.peek().kind !== "playable") void watch.load();
  }, [settled]); // asked again whenever some video has become ready, because this may be the one
  const state = watch.state.value;
  const waitsFor = state.kind === "not-ready" ? state.artifact : null;
  useEffect(() => {
    if (state.kind !== "not-ready") return undefined;
    const load = () => void watch.load();
    const isNews = ({ artifactHash, stage }: ClipEvent) =>
      artifactHash === waitsFor?.artifactHash && stage !== waitsFor.status;
    return clipFeed.listen({ onEvent: (event) => isNews(event) && load(), onGap: load });
  }, [state.kind, waitsFor?.artifactHash, waitsFor?.status]); // the library hears of videos only, and this may be a clip
  return (
    <>
      <nav class={styles.path} aria-label="Breadcrumb">
        <Link to="/">Library</Link>
      </nav>
      <Stage watch={watch} startMs={startMs} />
    </>
  );
}

function Stage({ watch, startMs }: { readonly watch: Watch; readonly startMs: number }) {
  const state = watch.state.value;
  switch (state.kind) {
    case "loading":
      return (
        <>
          <PageTitle name="Loading" hidden />
          <div class={styles.blank} />
        </>
      );
    case "playable":
      return <Playable watch={watch} playback={state.playback} startMs={startMs} />;
    case "not-ready":
      return <NotReady artifact={state.artifact} message={state.problem.message} />;
    case "missing":
      return (
        <>
          <PageTitle name="Not found" hidden />
          <Notice icon="film" title="Video not found">
            It may have been deleted, or the link is incomplete.
          </Notice>
        </>
      );
    case "failed":
      return (
        <>
          <PageTitle name="Player" hidden />
          <ProblemNotice problem={state.problem} onRetry={() => void watch.load()} />
        </>
      );
  }
}

interface PlayableProps {
  readonly watch: Watch;
  readonly playback: Playback;
  readonly startMs: number;
}

function Playable({ watch, playback, startMs }: PlayableProps) {
  const { library } = useWorkspace();
  const video = library.video(playback.artifactHash);
  const isKnown = video !== undefined;
  useEffect(() => {
    if (!isKnown) library.refresh(playback.artifactHash); // older than the pages of the list that were read
  }, [isKnown, playback.artifactHash]);
  if (video?.status === "deleted") {
    return (
      <Notice icon="film" title="This video was deleted">
        It cannot be watched any more.
      </Notice>
    );
  }
  const title = titleNow(playback, video);
  return (
    <>
      <Player playback={playback} title={title} startMs={startMs} onExpired={() => void watch.load()} />
      <PageTitle name={title} class={styles.title} />
      <VideoFacts playback={playback} video={video} title={title} />
    </>
  );
}

interface NotReadyProps {
  readonly artifact: Artifact | null;
  readonly message: string;
}

function NotReady({ artifact, message }: NotReadyProps) {
  if (artifact !== null) return <Unplayable artifact={artifact} message={message} />;
  return (
    <>
      <PageTitle name="Not ready" hidden />
      <Notice icon="film" title="This video is not ready yet">
        <Phrase text={message} /> {STARTS_BY_ITSELF}
      </Notice>
    </>
  );
}

function Unplayable({ artifact, message }: NotReadyProps & { readonly artifact: Artifact }) {
  const { library } = useWorkspace();
  const listed = library.video(artifact.artifactHash);
  const isUnlisted = artifact.__typename === "Vod" && listed === undefined;
  useEffect(() => {
    if (isUnlisted) library.refresh(artifact.artifactHash); // from then on events keep it current
  }, [isUnlisted]);
  const { artifactHash, title, status, errorMessage } = listed ?? artifact;
  const isFailed = status === "failed";
  return (
    <>
      <PageTitle name={title} hidden />
      <Notice icon="film" title={title}>
        <div class={styles.state}>
          <StateChip state={stateView(listed ?? artifact, null)} />
        </div>
        <p>
          <Phrase text={(isFailed ? errorMessage : null) ?? message} /> {!isFailed && STARTS_BY_ITSELF}
        </p>
      </Notice>
      <VideoStages artifactHash={artifactHash} status={status} />
    </>
  );
}
