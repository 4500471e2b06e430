/** Reads again what changes without an event, for as long as somebody looks. */

const EVERY_MS = 3000;

export function repeatWhile(isWanted: () => boolean, read: () => void, ends: AbortSignal): void {
  const timer = setInterval(() => {
    if (document.visibilityState === "visible" && isWanted()) read();
  }, EVERY_MS);
  ends.addEventListener("abort", () => clearInterval(timer), { once: true });
}
