import { expect, test } from "vitest";
import { initialsOf } from "../../src/app/initials";
import { nextPath, routeOf, signInPath, watchPath } from "../../src/app/routes";

test.each([
  ["/", { page: "library" }],
  ["/sign-in", { page: "sign-in" }],
  ["/watch/abcdefgh01234567", { page: "watch", playbackId: "abcdefgh01234567" }],
  ["/watch/ABCDEFGH01234567", { page: "watch", playbackId: "abcdefgh01234567" }],
  ["/watch/short", { page: "unknown" }],
  ["/watch/abcdefgh01234567/more", { page: "unknown" }],
  ["/jobs", { page: "jobs" }],
  ["/jobs/01a1e088-94df-7496-b3aa-3bb3492eda3b", { page: "job", jobId: "01a1e088-94df-7496-b3aa-3bb3492eda3b" }],
  ["/jobs/1", { page: "unknown" }],
  ["/elsewhere", { page: "unknown" }],
])("%s", (path, route) => expect(routeOf(path)).toEqual(route));

test("after signing in one goes on to where one wanted to go", () => {
  const wanted = watchPath("abcdefgh01234567");
  expect(nextPath(signInPath(wanted).replace("/sign-in", ""))).toBe(wanted);
  expect(nextPath(signInPath("/jobs?status=failed").replace("/sign-in", ""))).toBe("/jobs?status=failed");
  expect(signInPath("/")).toBe("/sign-in");
});

test.each([
  "?next=https://evil.example",
  "?next=//evil.example",
  "?next=/%5Cevil.example",
  "?next=/sign-in",
  "",
  "?next=",
])("%j leads to the library", (search) => expect(nextPath(search)).toBe("/"));

test.each([
  ["Jo Fielding", "JF"],
  ["Jo van der Berg", "JB"],
  ["jo", "J"],
  ["", "E"],
  ["Ωmega Åse", "ΩÅ"],
])("%j is %s", (name, initials) => expect(initialsOf(name, "e@example.org")).toBe(initials));
