import { expect, test } from "vitest";
import { linkToken } from "../../src/session/link";
import { mayChange } from "../../src/session/model";

test.each([
  ["#token=abc-_1", "abc-_1"],
  ["#token=a%2Bb", "a+b"],
  ["#content", null],
  ["", null],
])("%j carries %j", (fragment, token) => expect(linkToken(fragment)).toBe(token));

test("viewers may look, all others may change", () => {
  const identity = (role: "viewer" | "editor" | "admin" | "operator") => ({
    user: { id: "u", email: "", name: "", role },
    tenant: { id: "t", slug: "t", name: "T" },
  });
  expect(mayChange(identity("viewer"))).toBe(false);
  expect((["editor", "admin", "operator"] as const).every((role) => mayChange(identity(role)))).toBe(true);
});
