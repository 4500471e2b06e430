import { expect, test } from "vitest";
import { expectAnswer } from "../../src/api/answers";
import { createRequest, type Post } from "../../src/api/client";
import { VideoDocument } from "../../src/api/generated";
import { ProblemError, problemOf, UNREACHABLE } from "../../src/kernel/problem";

const tokens = {
  accessToken: () => Promise.resolve("old"),
  renew: (refused: string) => Promise.resolve(`new instead of ${refused}`),
};
const unauthenticated = new ProblemError({ ...UNREACHABLE, code: "unauthenticated" });

/** Answers in turn, and notes which token each question carried. */
function answering(...answers: readonly unknown[]): { post: Post; used: string[] } {
  const used: string[] = [];
  const left = [...answers];
  const post: Post = (_path, _body, headers) => {
    used.push(headers.Authorization ?? "");
    const answer = left.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ status: 200, body: answer });
  };
  return { post, used };
}

const ask = (post: Post) => createRequest(tokens, post)(VideoDocument, { artifactHash: "a" });

test("a refused token is renewed once and the question asked again", async () => {
  const { post, used } = answering(unauthenticated, { data: { vod: null } });
  await expect(ask(post)).resolves.toEqual({ vod: null });
  expect(used).toEqual(["Bearer old", "Bearer new instead of old"]);
});

test("what is refused twice is refused", async () => {
  const { post, used } = answering(unauthenticated, unauthenticated);
  await expect(ask(post)).rejects.toBe(unauthenticated);
  expect(used).toHaveLength(2);
});

test("a refusal inside the answer counts like one in the status", async () => {
  const refusal = { errors: [{ message: "nobody we know", extensions: { code: "unauthenticated" } }] };
  const { post } = answering(refusal, { data: { vod: null } });
  await expect(ask(post)).resolves.toEqual({ vod: null });
});

test("other errors are told with their code and hint", async () => {
  const { post } = answering({
    errors: [{ message: "too deep", extensions: { code: "limit_exceeded", hint: "Ask less." } }],
  });
  const problem = problemOf(await ask(post).catch((error: unknown) => error));
  expect(problem).toEqual({ code: "limit_exceeded", message: "too deep", hint: "Ask less." });
});

type Answer =
  | { readonly __typename: "Good"; readonly value: number }
  | { readonly __typename: "ValidationError"; readonly code: string; readonly message: string; readonly hint: string };

test("the wanted member of a union is the answer, any other a problem", () => {
  const good = { __typename: "Good", value: 1 } as Answer;
  expect(expectAnswer(good, "Good").value).toBe(1);
  const bad = { __typename: "ValidationError", code: "invalid_input", message: "no", hint: "do" } as Answer;
  expect(() => expectAnswer(bad, "Good")).toThrow(ProblemError);
});

test("a member that is newer than the page asks to reload it", () => {
  const unknown = { __typename: "Teapot" } as unknown as Answer;
  try {
    expectAnswer(unknown, "Good");
    expect.unreachable();
  } catch (error) {
    expect(problemOf(error).hint).toContain("Reload");
  }
});
