/** Brings HLS into a video element: by hls.js where the browser has Media Source, else by the browser itself. */
import workerPath from "hls.js/dist/hls.worker.js?url";
import type Hls from "hls.js";
import type { ErrorTypes } from "hls.js";
import { leadOf } from "./start";

/**
 * `expired`: the signed address does not answer any more. `missing`: nothing is there; the video may be deleted, or
 * replaced. `gone`: its file is lost, whatever the address. `unreadable`: the store fails to read it. `unsupported`:
 * this browser cannot play it at all.
 */
export type SourceFailure = "expired" | "missing" | "gone" | "unreadable" | "network" | "media" | "unsupported";

export interface Source {
  readonly manifestUrl: string;
  /** It goes on: played from what happens now, and waited for while its encoder is away. */
  readonly isLive: boolean;
  /** In the time of the video, which begins with its first moment. */
  readonly startAtSeconds: number;
  /** So much lies before that moment in the stream, as its playlist says. */
  onLead(seconds: number): void;
  onFailure(failure: SourceFailure): void;
}

const FAILURES = new Map<number, SourceFailure>([
  [401, "expired"],
  [403, "expired"],
  [404, "missing"],
  [410, "gone"],
]);
const SERVER_FAILURE = 500;
const RECOVERY_PAUSE_MS = 10_000;
const LIVE_PAUSE_MS = 2000;
const AT_THE_EDGE = -1; // for hls.js

/** What an answer says that cannot be played; null when it says nothing. */
export function failureOf(status: number): SourceFailure | null {
  return status >= SERVER_FAILURE ? "unreadable" : (FAILURES.get(status) ?? null);
}

export async function attachSource(element: HTMLVideoElement, source: Source, ends: AbortSignal): Promise<void> {
  // The whole of it: the light build plays neither sound from a stream of its own nor captions.
  const module = await import("hls.js").catch(() => null);
  if (ends.aborted) return;
  const HlsPlayer = module?.default;
  if (HlsPlayer === undefined) source.onFailure("network");
  else if (HlsPlayer.isSupported()) attachHls(element, source, ends, HlsPlayer);
  else if (element.canPlayType("application/vnd.apple.mpegurl") !== "") await attachNatively(element, source, ends);
  else source.onFailure("unsupported");
}

/** Before there is any picture, so that none of another moment is shown or played. */
function startThere(element: HTMLVideoElement, seconds: number, ends: AbortSignal): void {
  if (seconds === 0) return;
  const seek = () => (element.currentTime = seconds);
  element.addEventListener("loadedmetadata", seek, { signal: ends, once: true });
}

function attachHls(element: HTMLVideoElement, source: Source, ends: AbortSignal, HlsPlayer: typeof Hls): void {
  const player = new HlsPlayer({
    workerPath, // a file of ours: the page's policy needs no room for scripts made at run time
    autoStartLoad: false, // where to start is known when the playlist is
    capLevelToPlayerSize: true,
    backBufferLength: 90,
    liveDurationInfinity: source.isLive, // then the element says how far one can go back
  });
  let recoveredAt = -Infinity;
  let hasFailed = false;
  const fail = (failure: SourceFailure) => {
    if (hasFailed) return; // one failure is told once
    hasFailed = true;
    player.stopLoad();
    source.onFailure(failure);
  };
  const recover = () => {
    const isRecent = performance.now() - recoveredAt < RECOVERY_PAUSE_MS;
    recoveredAt = performance.now();
    if (isRecent) fail("media");
    else player.recoverMediaError();
  };
  /** Who publishes may come back at any time: whether that is over is said by the page, not by an answer. */
  const waitForLive = () => {
    const timer = setTimeout(() => player.startLoad(AT_THE_EDGE), LIVE_PAUSE_MS);
    ends.addEventListener("abort", () => clearTimeout(timer), { once: true });
  };
  const onFatal = (type: ErrorTypes, answered: SourceFailure | null) => {
    if (type === HlsPlayer.ErrorTypes.NETWORK_ERROR) {
      if (source.isLive) waitForLive();
      else fail(answered ?? "network");
    } else if (type === HlsPlayer.ErrorTypes.MEDIA_ERROR) recover();
    else fail("media");
  };
  player.on(HlsPlayer.Events.ERROR, (_name, { fatal, type, response }) => {
    const answered = failureOf(response?.code ?? 0);
    // hls.js would ask again and again, but who is refused needs another address, or none helps.
    if (answered !== null && answered !== "unreadable") fail(answered);
    else if (fatal) onFatal(type, answered);
  });
  player.once(HlsPlayer.Events.MANIFEST_LOADED, (_name, { startTimeOffset }) => {
    const lead = startTimeOffset ?? 0;
    const start = lead + source.startAtSeconds;
    source.onLead(lead);
    if (!source.isLive) startThere(element, start, ends);
    // Its own listeners come first: what the playlist lists is known by now.
    player.startLoad(source.isLive ? AT_THE_EDGE : start);
  });
  player.loadSource(source.manifestUrl);
  player.attachMedia(element);
  ends.addEventListener("abort", () => player.destroy(), { once: true });
}

/** The browser begins where the playlist says, but does not tell where that is: the playlist is read here, too. */
async function attachNatively(element: HTMLVideoElement, source: Source, ends: AbortSignal): Promise<void> {
  const playlist = await fetch(source.manifestUrl, { signal: ends })
    .then(async (answer) => ({ failure: failureOf(answer.status), lead: answer.ok ? leadOf(await answer.text()) : 0 }))
    .catch(() => ({ failure: null, lead: 0 })); // that the stream cannot be had is the element's to say
  if (ends.aborted) return;
  if (playlist.failure !== null) {
    source.onFailure(playlist.failure);
    return;
  }
  const { lead } = playlist;
  source.onLead(lead);
  startThere(element, lead + source.startAtSeconds, ends);
  const onError = () => source.onFailure(nativeFailure(element.error?.code));
  element.addEventListener("error", onError, { signal: ends });
  element.src = source.manifestUrl;
  ends.addEventListener("abort", () => element.removeAttribute("src"), { once: true });
}

/** A refused address looks like an unsupported one here, so another address is tried before giving up. */
function nativeFailure(code: number | undefined): SourceFailure {
  if (code === MediaError.MEDIA_ERR_DECODE) return "media";
  return code === MediaError.MEDIA_ERR_SRC_NOT_SUPPORTED ? "expired" : "network";
}
