/** What buttons and keys do to a video element. Times are the video's own, as in media.ts. */
import type { ReadonlySignal } from "@preact/signals";
import { captionTracks, isShown } from "./media";
import type { Shortcut } from "./shortcuts";

/** iPhones have full screen for the video element only, under an old name. */
interface OldVideoElement extends HTMLVideoElement {
  webkitEnterFullscreen?: () => void;
}

export interface Remote {
  readonly toggle: () => void;
  readonly seekTo: (seconds: number) => void;
  readonly setVolume: (volume: number) => void;
  readonly toggleMuted: () => void;
  readonly toggleFullscreen: () => void;
  /** From one language to the next, and then none. */
  readonly switchCaptions: () => void;
  readonly press: (shortcut: Shortcut) => void;
}

export function createRemote(element: OldVideoElement, frame: HTMLElement, lead: ReadonlySignal<number>): Remote {
  const remote: Remote = {
    toggle() {
      // A browser may refuse to start; then the button still says "play", which is all there is to say.
      if (element.paused) element.play().catch(() => undefined);
      else element.pause();
    },
    seekTo(seconds) {
      const wanted = lead.peek() + Math.max(0, seconds);
      element.currentTime = Number.isFinite(element.duration) ? Math.min(wanted, element.duration) : wanted;
    },
    setVolume(volume) {
      element.volume = Math.max(0, Math.min(1, volume));
      element.muted = element.volume === 0;
    },
    toggleMuted: () => (element.muted = !element.muted),
    toggleFullscreen() {
      if (document.fullscreenElement !== null) void document.exitFullscreen();
      else if (document.fullscreenEnabled) frame.requestFullscreen().catch(() => undefined);
      else element.webkitEnterFullscreen?.();
    },
    switchCaptions() {
      const tracks = captionTracks(element);
      const next = tracks[tracks.findIndex(isShown) + 1];
      for (const track of tracks) track.mode = track === next ? "showing" : "disabled";
    },
    press(shortcut) {
      if (shortcut.kind === "seek") remote.seekTo(element.currentTime - lead.peek() + shortcut.seconds);
      else if (shortcut.kind === "volume") remote.setVolume(element.volume + shortcut.change);
      else SIMPLE[shortcut.kind](remote);
    },
  };
  return remote;
}

const SIMPLE: Record<"toggle" | "mute" | "captions" | "fullscreen", (remote: Remote) => void> = {
  toggle: (remote) => remote.toggle(),
  mute: (remote) => remote.toggleMuted(),
  captions: (remote) => remote.switchCaptions(),
  fullscreen: (remote) => remote.toggleFullscreen(),
};
