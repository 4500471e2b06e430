import { expect, test } from "vitest";
import { initialsOf } from "../../src/app/initials";
import { nextPath, routeOf, sessionPath, signInPath, watchPath } from "../../src/app/routes";

test.each([
  ["/", { page: "library" }],
  ["/sign-in", { page: "sign-in" }],
  ["/matches", { page: "matches", query: "" }],
  ["/matches?day=2026-11-15", { page: "matches", query: "day=2026-11-15" }],
  ["/search", { page: "search", query: "" }],
  ["/search?q=full+time&sort=recency", { page: "search", query: "q=full+time&sort=recency" }],
  ["/search/more", { page: "unknown" }],
  ["/watch/abcdefgh01234567", { page: "watch", playbackId: "abcdefgh01234567", startMs: 0 }],
  ["/watch/ABCDEFGH01234567", { page: "watch", playbackId: "abcdefgh01234567", startMs: 0 }],
  ["/watch/abcdefgh01234567?t=61234", { page: "watch", playbackId: "abcdefgh01234567", startMs: 61234 }],
  ["/watch/abcdefgh01234567?t=-5", { page: "watch", playbackId: "abcdefgh01234567", startMs: 0 }],
  ["/watch/abcdefgh01234567?t=1e3", { page: "watch", playbackId: "abcdefgh01234567", startMs: 0 }],
  ["/watch/abcdefgh01234567?t=12345678901", { page: "watch", playbackId: "abcdefgh01234567", startMs: 0 }],
  ["/watch/short", { page: "unknown" }],
  ["/watch/abcdefgh01234567/more", { page: "unknown" }],
  ["/jobs", { page: "jobs", query: "" }],
  ["/jobs?status=failed", { page: "jobs", query: "status=failed" }],
  ["/jobs/01a1e088-94df-7496-b3aa-3bb3492eda3b", { page: "job", jobId: "01a1e088-94df-7496-b3aa-3bb3492eda3b" }],
  ["/jobs/1", { page: "unknown" }],
  ["/sessions", { page: "sessions", query: "" }],
  ["/sessions?view=rows", { page: "sessions", query: "view=rows" }],
  ["/sessions/stream-1%7Crequest%2F2", { page: "session", sessionId: "stream-1|request/2" }],
  ["/sessions/%ff", { page: "unknown" }],
  ["/sessions/", { page: "unknown" }],
  ["/live", { page: "live" }],
  ["/live/01a1e088-94df-7496-b3aa-3bb3492eda3b", { page: "stream", streamId: "01a1e088-94df-7496-b3aa-3bb3492eda3b" }],
  ["/live/short", { page: "unknown" }],
  ["/storage", { page: "storage", query: "" }],
  ["/storage?place=s3", { page: "storage", query: "place=s3" }],
  ["/storage/0123456789abcdef0123456789abcdef", { page: "stored", artifactHash: "0123456789abcdef0123456789abcdef" }],
  ["/storage/short", { page: "unknown" }],
  ["/elsewhere", { page: "unknown" }],
])("%s", (path, route) => expect(routeOf(path)).toEqual(route));

test("after signing in one goes on to where one wanted to go", () => {
  const wanted = [watchPath("abcdefgh01234567", 61_234), "/search?q=full%20time&team=a%26b", "/jobs?status=failed"];
  for (const path of wanted) expect(nextPath(signInPath(path).replace("/sign-in", ""))).toBe(path);
  expect(signInPath("/")).toBe("/sign-in");
});

test("any text can be the id of a session", () => {
  const sessionId = "stream 1|request/2?%#é";
  expect(routeOf(sessionPath(sessionId))).toEqual({ page: "session", sessionId });
});

test("a link to a moment says it in whole milliseconds, and the beginning needs no saying", () => {
  expect(watchPath("abcdefgh01234567", 1000.4)).toBe("/watch/abcdefgh01234567?t=1000");
  expect(watchPath("abcdefgh01234567", 0)).toBe("/watch/abcdefgh01234567");
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
