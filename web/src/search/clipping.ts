/**
 * Clips of what was found: asked for, and followed until they can be watched, whichever page is open by then.
 * Invariant: bounded. A clip that takes long is asked about ever more rarely, and at last not any more.
 */
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { ClipStatusDocument, CreateClipDocument, type CreateClipInput } from "../api/generated";
import type { ToastLink } from "../app/messages";
import { watchPath } from "../app/routes";
import { problemOf, type Problem } from "../kernel/problem";
import { delayBefore, type Wait } from "../kernel/waiting";
import type { Hit } from "./model";

export interface ClippingParts {
  readonly request: Request;
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
const PATIENCE = { firstMs: 1000, mostMs: 15_000 };
const MOST_LOOKS = 60;

/** The text for as long as it is shown. A scoreboard may be there for the whole match: then its first minute. */
export function clipOf({ artifactHash, text, startMs, endMs }: Hit): CreateClipInput {
  const end = Math.min(Math.max(endMs, startMs + 1), startMs + LONGEST_MS);
  const title = Array.from(characters.segment(text.trim()), ({ segment }) => segment)
    .slice(0, LONGEST_TITLE)
    .join("");
  return { artifactHash, startSeconds: startMs / 1000, endSeconds: end / 1000, title };
}

export function createClipping({ request, tell, tellProblem, wait, random, ends }: ClippingParts): Clipping {
  /** Null while nobody knows. A failure of asking says nothing about the clip. */
  async function look(artifactHash: string) {
    return (await request(ClipStatusDocument, { artifactHash }).catch(() => null))?.clip ?? null;
  }

  async function settled(artifactHash: string) {
    for (let attempt = 1; attempt <= MOST_LOOKS; attempt += 1) {
      await wait(delayBefore(attempt, PATIENCE, random), ends);
      const clip = await look(artifactHash);
      if (clip?.status === "ready" || clip?.status === "failed") return clip;
    }
    return null;
  }

  async function make(hit: Hit): Promise<void> {
    const clip = expectAnswer((await request(CreateClipDocument, { input: clipOf(hit) })).createClip, "Clip");
    const name = `“${clip.title}”`;
    const ready = () => tell(`The clip ${name} is ready.`, { to: watchPath(clip.playbackId), label: "Watch it" });
    if (clip.status === "ready") {
      ready();
      return;
    }
    tell(`The clip ${name} is being made.`);
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

function failed(title: string, reason: string | null): Problem {
  return { code: "failed", message: `the clip “${title}” could not be made`, hint: reason ?? "Try it again." };
}
