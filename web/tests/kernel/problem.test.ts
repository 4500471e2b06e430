import { describe, expect, test } from "vitest";
import { isTransient, ProblemError, problemOf, problemOfAnswer, sentence, UNREACHABLE } from "../../src/kernel/problem";

describe("answers of the gateway", () => {
  test("a problem document is read as what, why and next", () => {
    const body = {
      code: "forbidden",
      title: "this is not allowed",
      detail: "you act as viewer",
      next: "Ask an admin.",
    };
    expect(problemOfAnswer(403, body)).toEqual({
      code: "forbidden",
      message: "this is not allowed: you act as viewer",
      hint: "Ask an admin.",
    });
  });

  test.each([
    [401, "unauthenticated"],
    [429, "rate_limited"],
    [502, "unavailable"],
    [418, "internal"],
  ])("status %d without a document is %s", (status, code) => {
    expect(problemOfAnswer(status, null).code).toBe(code);
    expect(problemOfAnswer(status, "<html>").hint).not.toBe("");
  });
});

test("what nobody foresaw is still told with a next step", () => {
  expect(problemOf(new TypeError("x is undefined")).hint).toContain("Reload");
  expect(problemOf(new ProblemError(UNREACHABLE))).toBe(UNREACHABLE);
});

test("only failures that pass are worth repeating", () => {
  const codes = ["unreachable", "unavailable", "rate_limited", "invalid_input", "quota_exceeded", "conflict"];
  expect(codes.filter((code) => isTransient({ ...UNREACHABLE, code }))).toEqual(codes.slice(0, 3));
});

test.each([
  ["the file is empty", "The file is empty."],
  ["Done!", "Done!"],
  ["  ", ""],
])("%j is told as %j", (phrase, told) => expect(sentence(phrase)).toBe(told));
