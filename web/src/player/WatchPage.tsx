import { useEffect, useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { useWorkspace } from "../app/workspace";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { VideoStages } from "../jobs/VideoStages";
import type { Video } from "../library/model";
import { StateChip } from "../library/StateChip";
import { stateView } from "../library/states";
import { Player } from "./Player";
import { VideoFacts } from "./VideoFacts";
import { createWatch, type Playback, type Watch } from "./watch";
import styles from "./WatchPage.module.css";

const SETTLED = new Set(["ready", "failed"]);

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
  const isWaiting = watch.state.value.kind === "not-ready";
  useEffect(() => {
    if (!isWaiting) return undefined;
    const load = () => void watch.load();
    return clipFeed.listen({ onEvent: ({ stage }) => SETTLED.has(stage) && load(), onGap: load });
  }, [isWaiting]); // the library hears of videos only, and this may be a clip
  return (
    <>
      <nav class={styles.path} aria-label="Where you are">
        <Link to="/">Library</Link>
      </nav>
      <Stage watch={watch} playbackId={playbackId} startMs={startMs} />
    </>
  );
}

function Stage({ watch, playbackId, startMs }: WatchPageProps & { readonly watch: Watch }) {
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
      return <NotReady playbackId={playbackId} message={state.problem.message} />;
    case "missing":
      return (
        <>
          <PageTitle name="Not found" hidden />
          <Notice icon="film" title="There is no such video">
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
  return (
    <>
      <Player playback={playback} startMs={startMs} onExpired={() => void watch.load()} />
      <PageTitle name={playback.title} class={styles.title} />
      <VideoFacts playback={playback} video={video} />
    </>
  );
}

function NotReady({ playbackId, message }: { readonly playbackId: string; readonly message: string }) {
  const { library } = useWorkspace();
  const video = library.videos.value.find((known) => known.playbackId === playbackId);
  const isFailed = video?.status === "failed";
  return (
    <>
      <PageTitle name={video?.title ?? "Not ready"} hidden />
      <Notice icon="film" title={video?.title ?? "This video is not ready yet"}>
        {video && (
          <div class={styles.state}>
            <StateChip state={stateView(video, null)} />
          </div>
        )}
        <p>
          <Phrase text={(isFailed ? video.errorMessage : null) ?? message} />
          {!isFailed && " It starts here by itself as soon as it can be played."}
        </p>
      </Notice>
      <KnownStages video={video} />
    </>
  );
}

function KnownStages({ video }: { readonly video: Video | undefined }) {
  return video ? <VideoStages artifactHash={video.artifactHash} /> : null;
}
