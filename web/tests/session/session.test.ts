import { expect, test } from "vitest";
import { ProblemError, UNREACHABLE } from "../../src/kernel/problem";
import type { AuthDoor } from "../../src/session/door";
import type { Role, SignedIn } from "../../src/session/model";
import { createSession } from "../../src/session/session";
import { settle } from "../support/time";

const unauthenticated = new ProblemError({ ...UNREACHABLE, code: "unauthenticated" });

function signedIn(token: string, user = "u", role: Role = "editor"): SignedIn {
  return {
    user: { id: user, email: "e@example.org", name: "E", role },
    tenant: { id: "t", slug: "t", name: "T" },
    access_token: token,
    expires_in: 600,
  };
}

/** A door whose refreshes are answered by hand. */
function byHand() {
  const refreshes: PromiseWithResolvers<SignedIn>[] = [];
  const clock = { now: 0 };
  const door: AuthDoor = {
    byLink: (token) => Promise.resolve(signedIn(`by ${token}`)),
    byPassword: (email) => Promise.resolve(signedIn(`by ${email}`, "other")),
    refresh: () => {
      const answer = withResolvers<SignedIn>();
      refreshes.push(answer);
      return answer.promise;
    },
    signOut: () => Promise.resolve(),
  };
  const session = createSession({ door, now: () => clock.now, exclusive: (work) => work() });
  return { session, refreshes, clock };
}

interface PromiseWithResolvers<Value> {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (reason: Error) => void;
}

function withResolvers<Value>(): PromiseWithResolvers<Value> {
  const made = {} as PromiseWithResolvers<Value>;
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

test("all who need a token at once share one refresh", async () => {
  const { session, refreshes } = byHand();
  const asked = [session.start(), session.accessToken(), session.accessToken(), session.renew("older")];
  refreshes[0]?.resolve(signedIn("one"));
  expect(await Promise.all(asked)).toEqual([undefined, "one", "one", "one"]);
  expect(refreshes).toHaveLength(1);
});

test("a token serves until shortly before its end, then it is renewed", async () => {
  const { session, refreshes, clock } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  clock.now = 569_000;
  expect(await session.accessToken()).toBe("one");
  clock.now = 571_000;
  const next = session.accessToken();
  refreshes[1]?.resolve(signedIn("two"));
  expect(await next).toBe("two");
});

test("who was refused with an old token gets the one that is there already", async () => {
  const { session, refreshes } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  expect(await session.renew("older")).toBe("one");
  expect(refreshes).toHaveLength(1);
});

test("the end of a session is told to all who asked, and shows", async () => {
  const { session, refreshes } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  const asked = [session.renew("one"), session.renew("one")];
  refreshes[1]?.reject(unauthenticated);
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(session.state.value).toEqual({ kind: "signed-out", ended: unauthenticated.problem.message });
});

test("no answer is not the same as signed out", async () => {
  const { session, refreshes } = byHand();
  const started = session.start();
  refreshes[0]?.reject(new ProblemError(UNREACHABLE));
  await started;
  expect(session.state.value.kind).toBe("unreachable");
});

test("nobody was here: signed out, and nothing has ended", async () => {
  const { session, refreshes } = byHand();
  const started = session.start();
  refreshes[0]?.reject(unauthenticated);
  await started;
  expect(session.state.value).toEqual({ kind: "signed-out", ended: null });
});

test("a network failure in mid-session keeps the session", async () => {
  const { session, refreshes } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  const asked = session.renew("one");
  refreshes[1]?.reject(new ProblemError(UNREACHABLE));
  await expect(asked).rejects.toThrow();
  expect(session.state.value.kind).toBe("signed-in");
});

test("a session that ended while the page was closed says why", async () => {
  const { session, refreshes } = byHand();
  const started = session.start();
  const message = "your session is over: your password was changed";
  refreshes[0]?.reject(new ProblemError({ code: "session_over", message, hint: "Sign in again." }));
  await started;
  expect(session.state.value).toEqual({ kind: "signed-out", ended: message });
});

test("an answer that comes after signing out changes nothing", async () => {
  const { session, refreshes } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  const asked = session.renew("one");
  await session.signOut();
  refreshes[1]?.resolve(signedIn("two"));
  await expect(asked).rejects.toThrow("signed out");
  expect(session.state.value).toEqual({ kind: "signed-out", ended: null });
});

test("an answer for the person before does not replace the one who signed in since", async () => {
  const { session, refreshes } = byHand();
  const started = session.start();
  await session.signInByPassword("new@example.org", "secret");
  refreshes[0]?.resolve(signedIn("one", "before"));
  await started;
  expect(await session.accessToken()).toBe("by new@example.org");
  expect(session.state.value).toMatchObject({ identity: { user: { id: "other" } } });
});

test("a refresh that brings another person shows, one that brings the same does not disturb", async () => {
  const { session, refreshes } = byHand();
  void session.start();
  refreshes[0]?.resolve(signedIn("one"));
  await settle();
  const before = session.state.value;
  const same = session.renew("one");
  refreshes[1]?.resolve(signedIn("two"));
  await same;
  expect(session.state.value).toBe(before);
  const other = session.renew("two");
  refreshes[2]?.resolve(signedIn("three", "somebody else"));
  await other;
  expect(session.state.value).toMatchObject({ identity: { user: { id: "somebody else" } } });
});

test("signed out in another tab means signed out here", async () => {
  const { session } = byHand();
  await session.signInByLink("link");
  session.signedOutElsewhere();
  expect(session.state.value).toEqual({ kind: "signed-out", ended: "You signed out in another tab" });
});
