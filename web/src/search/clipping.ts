/**
 * Clips of what was found: asked for, and followed until they can be watched, whichever page is open by then.
 * Invariant: bounded. What happens to a clip is heard; one that nobody speaks of is asked about ever more rarely, and at
 * last not any more.
 */
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { ClipStatusDocument, CreateClipDocument, type CreateClipInput } from "../api/generated";
import type { ToastLink } from "../app/messages";
import { watchPath } from "../app/routes";
import { problemOf, type Problem } from "../kernel/problem";
import { delayBefore, type Wait } from "../kernel/waiting";
import type { Feed } from "../live/feed";
import type { ClipEvent } from "../live/socket";
import type { Hit } from "./model";

export interface ClippingParts {
  readonly request: Request;
  readonly feed: Feed<ClipEvent>;
  readonly tell: (text: string, link?: ToastLink) => void;
  readonly tellProblem: (problem: Problem) => void;
  readonly wait: Wait;
  readonly random: () => number;
  readonly ends: AbortSignal;
}

export interface Clipping {
  readonly make: (hit: Hit) => Promise<void>;
}

const LONGEST_MS = 60_000;
const LONGEST_TITLE = 100;
const characters = new Intl.Segmenter();
const BACKOFF = { firstMs: 1000, mostMs: 15_000 };
const MOST_LOOKS = 60;
const SETTLED = new Set<string | null | undefined>(["ready", "failed"]);

interface Outcome {
  readonly status: string | null;
  readonly errorMessage: string | null;
}

/** The text for as long as it is shown. A scoreboard may be there for the whole match: then its first minute. */
export function clipOf({ artifactHash, text, startMs, endMs }: Hit): CreateClipInput {
  const end = Math.min(Math.max(endMs, startMs + 1), startMs + LONGEST_MS);
  const title = Array.from(characters.segment(text.trim()), ({ segment }) => segment)
    .slice(0, LONGEST_TITLE)
    .join("");
  return { artifactHash, startSeconds: startMs / 1000, endSeconds: end / 1000, title };
}

export function createClipping({ request, feed, tell, tellProblem, wait, random, ends }: ClippingParts): Clipping {
  /** Null while nobody knows. A failure of asking says nothing about the clip. */
  async function look(artifactHash: string): Promise<Outcome | null> {
    return (await request(ClipStatusDocument, { artifactHash }).catch(() => null))?.clip ?? null;
  }

  async function lookLater(artifactHash: string, attempt: number): Promise<Outcome | null> {
    await wait(delayBefore(attempt, BACKOFF, random), ends);
    return look(artifactHash);
  }

  async function settled(artifactHash: string): Promise<Outcome | null> {
    const { heard, stop } = listenFor(feed, artifactHash);
    try {
      for (let attempt = 1; attempt <= MOST_LOOKS; attempt += 1) {
        const clip = await Promise.race([heard, lookLater(artifactHash, attempt)]);
        if (SETTLED.has(clip?.status)) return clip;
      }
      return null;
    } finally {
      stop();
    }
  }

  async function make(hit: Hit): Promise<void> {
    const clip = expectAnswer((await request(CreateClipDocument, { input: clipOf(hit) })).createClip, "Clip");
    const name = `“${clip.title}”`;
    const ready = () => tell(`The clip ${name} is ready.`, { to: watchPath(clip.playbackId), label: "Watch it" });
    if (clip.status === "ready") {
      ready();
      return;
    }
    tell(`The clip ${name} is being created.`);
    const end = await settled(clip.artifactHash);
    if (end?.status === "ready") ready();
    else if (end !== null) tellProblem(failed(clip.title, end.errorMessage));
  }

  return {
    async make(hit) {
      try {
        await make(hit);
      } catch (error) {
        if (!ends.aborted) tellProblem(problemOf(error));
      }
    },
  };
}

/** How it ended, as soon as somebody says so. */
function listenFor(feed: Feed<ClipEvent>, wanted: string) {
  let stop: () => void = () => undefined;
  const heard = new Promise<Outcome>((resolve) => {
    const onEvent = ({ artifactHash, stage, error }: ClipEvent) => {
      if (artifactHash === wanted && SETTLED.has(stage)) resolve({ status: stage, errorMessage: error });
    };
    stop = feed.listen({ onEvent, onGap: () => undefined });
  });
  return { heard, stop };
}

function failed(title: string, reason: string | null): Problem {
  return { code: "failed", message: `the clip “${title}” could not be created`, hint: reason ?? "Try it again." };
}
