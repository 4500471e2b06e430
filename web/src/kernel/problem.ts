/** A failure that a person can read: what happened and what to do next. `code` is the contract with the API. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly retryAfterSeconds?: number | null;
}

export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.message, options);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

export const UNREACHABLE: Problem = {
  code: "unreachable",
  message: "Touchline cannot be reached",
  hint: "Check your connection, then try again.",
};

const UNEXPECTED: Problem = {
  code: "internal",
  message: "Something went wrong",
  hint: "Reload the page. If it happens again, tell your administrator.",
};

/** These say nothing about the request itself: the same one may succeed in a moment. */
const TRANSIENT = new Set(["unreachable", "unavailable", "deadline_exceeded", "rate_limited"]);

export function isTransient(problem: Problem): boolean {
  return TRANSIENT.has(problem.code);
}

export function problemOf(error: unknown): Problem {
  return error instanceof ProblemError ? error.problem : UNEXPECTED;
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof ProblemError && error.problem.code === code;
}

/** What HTTP answers carry: application/problem+json (RFC 9457), or, from a proxy in between, anything at all. */
export function problemOfAnswer(status: number, body: unknown): Problem {
  const said = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const title = text(said.title);
  if (title === "") return fromStatus(status);
  const detail = text(said.detail);
  return {
    code: text(said.code) || fromStatus(status).code,
    message: detail === "" ? title : `${title}: ${detail}`,
    hint: text(said.next),
  };
}

function fromStatus(status: number): Problem {
  if (status === 401) return { code: "unauthenticated", message: "You are not signed in", hint: "Sign in again." };
  if (status === 429)
    return { code: "rate_limited", message: "Too many requests", hint: "Wait a moment, then try again." };
  if (status >= 502)
    return { code: "unavailable", message: "Touchline is not responding", hint: "Try again in a moment." };
  return UNEXPECTED;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Messages come as phrases; people read sentences. */
export function sentence(phrase: string): string {
  const trimmed = phrase.trim();
  if (trimmed === "") return "";
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}
