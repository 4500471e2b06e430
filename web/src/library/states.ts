/** A video's status in words and colour. A status that is newer than this page shows as it is. */
import type { Video } from "./model";

export type Tone = "good" | "busy" | "bad" | "quiet";

export interface StateView {
  readonly label: string;
  readonly tone: Tone;
  /** Null: nothing to wait for. Otherwise a bar, without a figure while the percentage is unknown. */
  readonly progress: { readonly percent: number | null } | null;
}

const KNOWN = new Map<string, Pick<StateView, "label" | "tone">>([
  ["requested", { label: "Requested", tone: "busy" }],
  ["uploading", { label: "Uploading", tone: "busy" }],
  ["completing", { label: "Checking", tone: "busy" }],
  ["aborting", { label: "Cancelling", tone: "quiet" }],
  ["processing", { label: "Processing", tone: "busy" }],
  ["ready", { label: "Ready", tone: "good" }],
  ["failed", { label: "Failed", tone: "bad" }],
  ["deleted", { label: "Deleted", tone: "quiet" }],
]);

/** `sentPercent`: this browser sends the file itself and knows better than the server how far it is. */
export function stateView(video: Pick<Video, "status" | "progressPercent">, sentPercent: number | null): StateView {
  const { status } = video;
  if (status === null) return { label: "State unknown", tone: "quiet", progress: null };
  const { label, tone } = KNOWN.get(status) ?? { label: status, tone: "quiet" as const };
  if (tone !== "busy") return { label, tone, progress: null };
  if (status !== "uploading") return { label, tone, progress: { percent: video.progressPercent } };
  const percent = sentPercent ?? video.progressPercent;
  // Nobody here knows whether it is still being sent: a bar that moves would claim it.
  return { label, tone, progress: percent === null ? null : { percent } };
}
