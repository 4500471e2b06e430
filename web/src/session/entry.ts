/** How somebody comes in: by the link in the address, or with the session that the browser still has. */
import { signal } from "@preact/signals";
import { tellProblem } from "../app/messages";
import { problemOf, type Problem } from "../kernel/problem";
import { takeLinkToken } from "./link";
import type { Session } from "./session";

/** Why the last sign-in link did not work, until the form has told it. */
export const linkProblem = signal<Problem | null>(null);

export async function enter(session: Session): Promise<void> {
  const token = takeLinkToken();
  if (token === null) return session.start();
  try {
    await session.signInByLink(token);
  } catch (error) {
    const problem = problemOf(error);
    if (isSignedIn(session)) {
      tellProblem(problem);
      return;
    }
    linkProblem.value = problem;
    await session.start(); // links work once: whoever opens theirs again is often signed in already
    if (isSignedIn(session)) linkProblem.value = null;
  }
}

function isSignedIn(session: Session): boolean {
  return session.state.peek().kind === "signed-in";
}
