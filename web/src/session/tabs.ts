/** The tabs of one browser share one session: they refresh in turn and hear of each other's sign-in and sign-out. */
import { effect } from "@preact/signals";
import type { Session } from "./session";

const REFRESH_LOCK = "touchline-refresh";
const CHANNEL = "touchline-session";

/** Locks exist only where the page is served securely; elsewhere the gateway's grace for two tabs has to do. */
export async function exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!("locks" in navigator)) return work();
  return navigator.locks.request(REFRESH_LOCK, work);
}

export function shareAcrossTabs(session: Session): void {
  const channel = new BroadcastChannel(CHANNEL);
  let told: string = session.state.peek().kind;
  channel.onmessage = ({ data }: MessageEvent<string>) => {
    told = data; // what another tab said is not said again
    if (data === "signed-out") session.signedOutElsewhere();
    if (data === "signed-in" && session.state.peek().kind === "signed-out") void session.start();
  };
  effect(() => {
    const { kind } = session.state.value;
    if (kind !== told && (kind === "signed-in" || kind === "signed-out")) channel.postMessage(kind);
    told = kind;
  });
}
