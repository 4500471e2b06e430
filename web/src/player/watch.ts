/** What the player page has to show: addresses to play from, or why there are none. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { ArtifactDocument, PlaybackDocument, type ArtifactQuery, type PlaybackQuery } from "../api/generated";
import { problemOf, type Problem } from "../kernel/problem";
import type { Video } from "../library/model";

export type Playback = Extract<PlaybackQuery["playback"], { readonly __typename: "Playback" }>;

/** A video or clip that cannot be played, or not yet. */
/** A recording has no state to show here: only the problem's own message. */
export type Artifact = Exclude<NonNullable<ArtifactQuery["artifact"]>, { readonly __typename: "DvrRecording" }>;

export type WatchState =
  | { readonly kind: "loading" }
  | { readonly kind: "playable"; readonly playback: Playback }
  | { readonly kind: "missing"; readonly problem: Problem }
  // It may become playable while somebody waits. Null: what it is could not be read.
  | { readonly kind: "not-ready"; readonly problem: Problem; readonly artifact: Artifact | null }
  | { readonly kind: "failed"; readonly problem: Problem };

/** The playback says how it was called when it was asked for; events keep the video of the library current. */
export function titleNow(playback: Playback, video: Video | undefined): string {
  return video?.title ?? playback.title;
}

export interface Watch {
  readonly state: ReadonlySignal<WatchState>;
  load(): Promise<void>;
}

export function createWatch(request: Request, playbackId: string): Watch {
  const state = signal<WatchState>({ kind: "loading" });
  let asked = 0;
  return {
    state,
    /** The last question counts, in whichever order the answers come. */
    async load() {
      asked += 1;
      const question = asked;
      const answer = await ask(request, playbackId);
      if (question === asked) state.value = answer;
    },
  };
}

async function ask(request: Request, playbackId: string): Promise<WatchState> {
  try {
    const answer = (await request(PlaybackDocument, { playbackId })).playback;
    return { kind: "playable", playback: expectAnswer(answer, "Playback") };
  } catch (error) {
    const problem = problemOf(error);
    const isNotReady = problem.code === "conflict";
    const artifact = isNotReady ? await readArtifact(request, playbackId) : null;
    return stateOf(problem, artifact);
  }
}

/** Why it does not play is worth showing, but not worth a second complaint. */
async function readArtifact(request: Request, playbackId: string): Promise<Artifact | null> {
  try {
    const { artifact } = await request(ArtifactDocument, { playbackId });
    return artifact?.__typename === "DvrRecording" ? null : artifact;
  } catch {
    return null;
  }
}

export function stateOf(problem: Problem, artifact: Artifact | null): WatchState {
  if (problem.code === "not_found") return { kind: "missing", problem };
  if (problem.code === "conflict") return { kind: "not-ready", problem, artifact };
  return { kind: "failed", problem };
}
