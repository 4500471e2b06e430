/**
 * The session: who is signed in, and the access token, in memory only.
 * Invariant: at most one refresh is under way, whoever asks; an answer that comes after somebody signed out or in
 * changes nothing.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Tokens } from "../api/client";
import { hasCode, ProblemError, problemOf } from "../kernel/problem";
import type { AuthDoor } from "./door";
import { sameIdentity, type SessionState, type SignedIn } from "./model";

const RENEW_BEFORE_END_MS = 30_000;
const OVER = "session_over";

export interface Session extends Tokens {
  readonly state: ReadonlySignal<SessionState>;
  readonly start: () => Promise<void>;
  readonly signInByLink: (token: string) => Promise<void>;
  readonly signInByPassword: (email: string, password: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Somebody signed out in another tab: the session is over here too. */
  readonly signedOutElsewhere: () => void;
}

export interface SessionParts {
  readonly door: AuthDoor;
  readonly now: () => number;
  /** Runs one refresh at a time across tabs: each one replaces the secret that the others would send. */
  readonly exclusive: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

interface HeldToken {
  readonly text: string;
  readonly freshUntil: number;
}

export function createSession(parts: SessionParts): Session {
  const state = signal<SessionState>({ kind: "starting" });
  let held: HeldToken | null = null;
  let renewal: Promise<string> | null = null;
  let epoch = 0;

  function enter(signedIn: SignedIn): string {
    const { user, tenant, access_token: text, expires_in: seconds } = signedIn;
    const identity = { user, tenant };
    held = { text, freshUntil: parts.now() + freshFor(seconds * 1000) };
    const known = state.peek();
    if (known.kind !== "signed-in" || !sameIdentity(known.identity, identity)) {
      state.value = { kind: "signed-in", identity };
    }
    return text;
  }

  function leave(ended: string | null): void {
    epoch += 1;
    held = null;
    state.value = { kind: "signed-out", ended };
  }

  async function refresh(): Promise<string> {
    const begun = epoch;
    try {
      const signedIn = await parts.exclusive(() => parts.door.refresh());
      if (begun === epoch) return enter(signedIn);
    } catch (error) {
      if (begun === epoch && isRefused(error)) leave(whyEnded(error, state.peek()));
      throw error;
    }
    if (held !== null) return held.text;
    throw new ProblemError({ code: "unauthenticated", message: "You are signed out", hint: "Sign in again." });
  }

  function renewOnce(): Promise<string> {
    renewal ??= refresh().finally(() => {
      renewal = null;
    });
    return renewal;
  }

  async function signIn(attempt: Promise<SignedIn>): Promise<void> {
    const signedIn = await attempt;
    epoch += 1;
    enter(signedIn);
  }

  return {
    state,
    async start() {
      state.value = { kind: "starting" };
      try {
        await renewOnce();
      } catch (error) {
        if (state.peek().kind === "starting") state.value = { kind: "unreachable", problem: problemOf(error) };
      }
    },
    accessToken: async () => (held !== null && parts.now() < held.freshUntil ? held.text : renewOnce()),
    renew: async (refused) => (held !== null && held.text !== refused ? held.text : renewOnce()),
    signInByLink: (token) => signIn(parts.door.byLink(token)),
    signInByPassword: (email, password) => signIn(parts.door.byPassword(email, password)),
    async signOut() {
      await parts.door.signOut();
      leave(null);
    },
    signedOutElsewhere() {
      if (state.peek().kind === "signed-in") leave("You signed out in another tab");
    },
  };
}

function isRefused(error: unknown): boolean {
  return hasCode(error, "unauthenticated") || hasCode(error, OVER);
}

/** The gateway says why a session that it knew is over; whoever was here until just now is told in any case. */
function whyEnded(error: unknown, state: SessionState): string | null {
  return hasCode(error, OVER) || state.kind === "signed-in" ? problemOf(error).message : null;
}

/** Half of a short life, all but the last seconds of a long one. */
function freshFor(lifetimeMs: number): number {
  return Math.max(lifetimeMs - RENEW_BEFORE_END_MS, lifetimeMs / 2);
}
