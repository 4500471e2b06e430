/** Streams and their recordings in words and figures. Pure. */
import { formatAge } from "../kernel/format";
import type { StateView } from "../library/states";
import type { Health, Recording, Stream } from "./model";

const STATES = new Map<string, Pick<StateView, "label" | "tone">>([
  ["live", { label: "Live", tone: "good" }],
  ["starting", { label: "Starting", tone: "busy" }],
  ["interrupted", { label: "Interrupted", tone: "bad" }],
  ["suspended", { label: "Suspended", tone: "quiet" }],
  ["idle", { label: "Offline", tone: "quiet" }],
]);

const RECORDING_STATES = new Map<string, StateView>([
  ["starting", { label: "Starting", tone: "busy", progress: null }],
  ["recording", { label: "Recording", tone: "bad", progress: null }],
  ["stopping", { label: "Stopping", tone: "busy", progress: { percent: null } }],
  ["completed", { label: "Recorded", tone: "good", progress: null }],
  ["completed_partial", { label: "Recorded with gaps", tone: "good", progress: null }],
  ["ready", { label: "Ready", tone: "good", progress: null }],
  ["failed", { label: "Failed", tone: "bad", progress: null }],
]);

export function streamState({ state }: Pick<Stream, "state">): StateView {
  return { ...(STATES.get(state) ?? { label: state, tone: "quiet" }), progress: null };
}

export function recordingState({ status, progressPercent, lifecycleKnown }: Recording): StateView {
  if (status === null) return { label: lifecycleKnown ? "Starting" : "State unknown", tone: "quiet", progress: null };
  if (status === "processing") return { label: "Processing", tone: "busy", progress: { percent: progressPercent } };
  return RECORDING_STATES.get(status) ?? { label: status, tone: "quiet", progress: null };
}

/** Since when it is what it is. */
export function sinceWords({ state, liveSince, interruptedAt, suspendedAt }: Stream, now: number): string {
  if (state === "interrupted" && interruptedAt !== null)
    return `waiting for the encoder since ${ago(interruptedAt, now)}`;
  if (state === "suspended" && suspendedAt !== null) return `suspended ${formatAge(suspendedAt, now)}`;
  if (liveSince !== null) return `live since ${ago(liveSince, now)}`;
  return "no encoder publishes";
}

/** `a moment` reads better behind `since` than `just now`. */
function ago(then: string, now: number): string {
  const age = formatAge(then, now);
  return age === "just now" ? "a moment ago" : age;
}

export interface Measured {
  readonly name: string;
  readonly value: string;
  /** Why it matters, when it is not as it should be. */
  readonly warning: string | null;
}

const LONG_GAP_MS = 4000;
const LATE_MS = 3000;

/** What the node measures of the encoder, as figures with their names. */
export function measured(health: Health): Measured[] {
  const { bitsPerSecond, framesPerSecond, droppedFrames, keyframeGapMs, behindMs, width, height } = health;
  const isLate = behindMs >= LATE_MS;
  const hasGap = keyframeGapMs > LONG_GAP_MS;
  return [
    { name: "Bit-rate", value: formatBitRate(bitsPerSecond), warning: null },
    { name: "Picture", value: width > 0 ? `${width} × ${height}` : "–", warning: null },
    { name: "Frames", value: `${Number(framesPerSecond.toFixed(1))} a second`, warning: null },
    {
      name: "Dropped",
      value: droppedFrames.toLocaleString("en"),
      warning: droppedFrames > 0 ? "The encoder or its line is too slow." : null,
    },
    {
      name: "Keyframe every",
      value: keyframeGapMs > 0 ? seconds(keyframeGapMs) : "–",
      warning: hasGap ? "Set the keyframe interval of the encoder to 2 s: viewers wait for one." : null,
    },
    {
      name: "Behind the encoder",
      value: seconds(behindMs),
      warning: isLate ? "Pictures arrive late: lower the bit-rate." : null,
    },
  ];
}

const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const LONGEST_TITLE = 150;

/** A clip is found again by the moment at which somebody wanted it. */
export function clipTitle(title: string, now: number): string {
  return `${title.slice(0, LONGEST_TITLE)}, ${clock.format(now)}`;
}

/** One line for a card. */
export function healthLine(health: Health): string {
  const { bitsPerSecond, framesPerSecond, droppedFrames } = health;
  const drops = droppedFrames === 0 ? "no drops" : `${droppedFrames.toLocaleString("en")} dropped`;
  return `${formatBitRate(bitsPerSecond)} · ${Math.round(framesPerSecond)} frames/s · ${drops}`;
}

/** `850 kbit/s`, `2.5 Mbit/s`. */
export function formatBitRate(bitsPerSecond: number): string {
  if (bitsPerSecond < 999_500) return `${Math.round(bitsPerSecond / 1000)} kbit/s`;
  return `${(bitsPerSecond / 1_000_000).toFixed(1)} Mbit/s`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
