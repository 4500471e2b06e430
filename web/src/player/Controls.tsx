import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { classes } from "../design/classes";
import { Icon, type IconName } from "../design/Icon";
import { formatDuration, speakDuration } from "../kernel/format";
import { behindLive, behindSpoken, behindWords, edgeOf, isAtEdge } from "./edge";
import type { LiveWindow } from "./media";
import styles from "./Controls.module.css";
import type { Machine } from "./Player";

interface ControlsProps {
  readonly machine: Machine;
  /** What the library says; a stream may end a little later, as its sound does. */
  readonly expectedSeconds: number;
}

export function Controls({ machine, expectedSeconds }: ControlsProps) {
  const { media, remote } = machine;
  const isFull = useFullscreen();
  const window = media.window.value;
  const isSilent = media.muted.value || media.volume.value === 0;
  return (
    <div class={styles.controls}>
      {window === null ? (
        <SeekBar machine={machine} expectedSeconds={expectedSeconds} />
      ) : (
        <LiveSeekBar machine={machine} window={window} />
      )}
      <div class={styles.bar}>
        <Control
          icon={media.paused.value ? "play" : "pause"}
          label={media.paused.value ? "Play" : "Pause"}
          onPress={remote.toggle}
        />
        <Control
          icon={isSilent ? "volumeOff" : "volume"}
          label={isSilent ? "Sound on" : "Sound off"}
          onPress={remote.toggleMuted}
        />
        <VolumeBar machine={machine} />
        {window === null ? (
          <Time machine={machine} expectedSeconds={expectedSeconds} />
        ) : (
          <LiveTime machine={machine} window={window} />
        )}
        <CaptionsControl machine={machine} />
        <Control
          icon={isFull ? "fullscreenExit" : "fullscreen"}
          label={isFull ? "Leave full screen" : "Full screen"}
          onPress={remote.toggleFullscreen}
        />
      </div>
    </div>
  );
}

function SeekBar({ machine: { media, remote }, expectedSeconds }: ControlsProps) {
  const duration = Math.max(media.duration.value, expectedSeconds);
  const seconds = Math.min(media.seconds.value, duration);
  const share = (value: number) => (duration > 0 ? `${(value / duration) * 100}%` : "0%");
  return (
    <input
      type="range"
      class={styles.seek}
      min={0}
      max={duration}
      step={0.1}
      value={seconds}
      disabled={duration === 0}
      aria-label="Position"
      aria-valuetext={`${speakDuration(seconds * 1000)} of ${speakDuration(duration * 1000)}`}
      style={{ "--played": share(seconds), "--buffered": share(Math.max(seconds, media.bufferedTo.value)) }}
      onInput={({ currentTarget }) => remote.seekTo(currentTarget.valueAsNumber)}
    />
  );
}

interface LiveProps {
  readonly machine: Machine;
  readonly window: LiveWindow;
}

/** The window of a stream that goes on: its right end is what happens now. */
function LiveSeekBar({ machine: { media, remote }, window }: LiveProps) {
  const length = window.to - window.from;
  const seconds = Math.min(Math.max(0, media.seconds.value - window.from), length);
  const share = (value: number) => (length > 0 ? `${(Math.min(value, length) / length) * 100}%` : "100%");
  return (
    <input
      type="range"
      class={styles.seek}
      min={0}
      max={length}
      step={0.1}
      value={seconds}
      disabled={length === 0}
      aria-label="Position"
      aria-valuetext={behindSpoken(behindLive(window, media.seconds.value))}
      style={{ "--played": share(seconds), "--buffered": share(media.bufferedTo.value - window.from) }}
      onInput={({ currentTarget }) => remote.seekTo(window.from + currentTarget.valueAsNumber)}
    />
  );
}

function LiveTime({ machine: { media, remote }, window }: LiveProps) {
  const behind = behindLive(window, media.seconds.value);
  const atEdge = isAtEdge(behind) && !media.paused.value;
  const goLive = () => {
    remote.seekTo(edgeOf(window));
    if (media.paused.peek()) remote.toggle();
  };
  return (
    <span class={styles.time}>
      <button
        type="button"
        class={classes(styles.live, atEdge && styles.atEdge)}
        aria-pressed={atEdge}
        title={atEdge ? "You see what happens now" : "Go to what happens now"}
        onClick={goLive}
      >
        Live
      </button>
      <span>{behindWords(behind)}</span>
    </span>
  );
}

function VolumeBar({ machine: { media, remote } }: { readonly machine: Machine }) {
  const volume = media.muted.value ? 0 : media.volume.value;
  return (
    <input
      type="range"
      class={styles.volume}
      min={0}
      max={1}
      step={0.05}
      value={volume}
      aria-label="Volume"
      aria-valuetext={`${Math.round(volume * 100)}%`}
      style={{ "--played": `${volume * 100}%`, "--buffered": `${volume * 100}%` }}
      onInput={({ currentTarget }) => remote.setVolume(currentTarget.valueAsNumber)}
    />
  );
}

function Time({ machine: { media }, expectedSeconds }: ControlsProps) {
  const duration = Math.max(media.duration.value, expectedSeconds);
  return (
    <span class={styles.time}>
      {formatDuration(media.seconds.value * 1000)} / {formatDuration(duration * 1000)}
    </span>
  );
}

function CaptionsControl({ machine: { media, remote } }: { readonly machine: Machine }) {
  const shown = media.captions.value;
  if (!media.hasCaptions.value) return null;
  return (
    <Control
      icon={shown === null ? "captions" : "captionsOn"}
      label={shown === null ? "Captions" : `Captions ${shown}`}
      onPress={remote.switchCaptions}
    />
  );
}

interface ControlProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onPress: () => void;
}

function Control({ icon, label, onPress }: ControlProps) {
  return (
    <button type="button" class={styles.control} aria-label={label} title={label} onClick={onPress}>
      <Icon name={icon} size={22} />
    </button>
  );
}

function useFullscreen(): boolean {
  const isFull = useSignal(false);
  useEffect(() => {
    const read = () => (isFull.value = document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", read);
    return () => document.removeEventListener("fullscreenchange", read);
  }, []);
  return isFull.value;
}
