/** GraphQL over HTTP. An access token that was refused is renewed once; what is refused twice is refused. */
import { hasCode, ProblemError, type Problem } from "../kernel/problem";
import type { TypedDocumentString } from "./generated";
import type { Reply } from "./http";

export interface Tokens {
  /** A token that is still valid for a while. */
  accessToken(): Promise<string>;
  /** Another token than the one that was refused. */
  renew(refused: string): Promise<string>;
}

export type Post = (path: string, body: unknown, headers: Record<string, string>) => Promise<Reply>;

export type Request = <Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
) => Promise<Result>;

export function createRequest(tokens: Tokens, post: Post): Request {
  return async <Result, Variables>(document: TypedDocumentString<Result, Variables>, variables: Variables) => {
    const ask = async (token: string) =>
      (await askOnce(post, token, { query: document.toString(), variables })) as Result;
    const token = await tokens.accessToken();
    try {
      return await ask(token);
    } catch (error) {
      if (!hasCode(error, "unauthenticated")) throw error;
      return ask(await tokens.renew(token));
    }
  };
}

async function askOnce(post: Post, token: string, body: unknown): Promise<unknown> {
  const reply = await post("/api/graphql", body, { Authorization: `Bearer ${token}` });
  const answer = (reply.body ?? {}) as { data?: unknown; errors?: readonly GraphQlError[] };
  const error = answer.errors?.[0];
  if (error !== undefined) throw new ProblemError(problemOfError(error));
  return answer.data;
}

export interface GraphQlError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown; readonly hint?: unknown } | undefined;
}

/** Errors outside the result unions: limits, and parts that are down. */
export function problemOfError({ message, extensions }: GraphQlError): Problem {
  return {
    code: typeof extensions?.code === "string" ? extensions.code : "internal",
    message,
    hint: typeof extensions?.hint === "string" ? extensions.hint : "Try again. If it happens again, reload the page.",
  };
}
