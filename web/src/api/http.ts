/** One request to our own gateway. A missing answer and a refusal both become a problem with a next step. */
import { ProblemError, problemOfAnswer, UNREACHABLE } from "../kernel/problem";

const LONGEST_REQUEST_MS = 30_000;

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export async function get(path: string): Promise<Reply> {
  const response = await reach(path, { signal: AbortSignal.timeout(LONGEST_REQUEST_MS) });
  const answer = await readJson(response);
  if (!response.ok) throw new ProblemError(problemOfAnswer(response.status, answer));
  return { status: response.status, body: answer };
}

export async function post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await reach(path, {
    method: "POST",
    headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(LONGEST_REQUEST_MS),
  });
  const answer = response.status === 204 ? null : await readJson(response);
  if (!response.ok) throw new ProblemError(problemOfAnswer(response.status, answer));
  return { status: response.status, body: answer };
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    throw new ProblemError(UNREACHABLE, { cause: error });
  }
}

/** A proxy's error page is no JSON, and a connection can end in the middle of an answer. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    if (!response.ok) return null;
    throw new ProblemError(UNREACHABLE, { cause: error });
  }
}
