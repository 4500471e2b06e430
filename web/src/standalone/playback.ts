/** What the gateway answers to somebody who is not signed in. */
import { get } from "../api/http";
import { ProblemError } from "../kernel/problem";
import type { Playable } from "../player/stream";

export interface PublicPlayback extends Playable {
  readonly title: string;
}

/** As the API spells it. */
interface Answer {
  readonly title: string;
  readonly manifest_url: string;
  readonly poster_url: string | null;
  readonly duration_ms: number | null;
}

const STRANGE = { code: "internal", message: "This page is out of date", hint: "Reload the page." };

export async function readPlayback(path: string): Promise<PublicPlayback> {
  const { body } = await get(path);
  if (!isAnswer(body)) throw new ProblemError(STRANGE);
  const { title, manifest_url: manifestUrl, poster_url: posterUrl, duration_ms: durationMs } = body;
  return { title, manifestUrl, posterUrl, durationMs };
}

function isAnswer(body: unknown): body is Answer {
  const said = body as Partial<Answer> | null;
  return typeof said === "object" && typeof said?.title === "string" && typeof said.manifest_url === "string";
}
