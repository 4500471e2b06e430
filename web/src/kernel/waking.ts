/** Waits for the next attempt, but not when the network is back or somebody looks at the page again. */
import { wait, type Wait } from "./waiting";

export const waitOrWake: Wait = async (milliseconds, signal) => {
  const woken = new AbortController();
  const wake = () => {
    if (document.visibilityState === "visible") woken.abort();
  };
  addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  try {
    await wait(milliseconds, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal);
  } catch (error) {
    if (!woken.signal.aborted || signal?.aborted) throw error;
  } finally {
    removeEventListener("online", wake);
    document.removeEventListener("visibilitychange", wake);
  }
};
