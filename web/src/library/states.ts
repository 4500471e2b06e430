/** An artifact's status in words and colour. A status that is newer than this page shows as it is. */

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

/** What somebody ended, or left alone, did not fail. */
const ENDED = new Map<string, string>([
  ["Cancelled", "Cancelled"],
  ["upload_aborted", "Cancelled"],
  ["upload_abandoned", "Abandoned"],
]);

export interface Stateful {
  readonly status: string | null;
  readonly progressPercent: number | null;
  readonly errorCode: string | null;
  readonly lifecycleKnown: boolean;
}

function words({ status, errorCode, lifecycleKnown }: Stateful): Pick<StateView, "label" | "tone"> {
  // Known and without a status: it is so new that no event has told of it yet.
  if (status === null) return { label: lifecycleKnown ? "Requested" : "State unknown", tone: "quiet" };
  const ended = status === "failed" ? ENDED.get(errorCode ?? "") : undefined;
  if (ended !== undefined) return { label: ended, tone: "quiet" };
  return KNOWN.get(status) ?? { label: status, tone: "quiet" };
}

/** `sentPercent`: this browser sends the file itself and knows better than the server how far it is. */
export function stateView(video: Stateful, sentPercent: number | null): StateView {
  const { status } = video;
  const { label, tone } = words(video);
  if (tone !== "busy") return { label, tone, progress: null };
  if (status !== "uploading") return { label, tone, progress: { percent: video.progressPercent } };
  const percent = sentPercent ?? video.progressPercent;
  // Nobody here knows whether it is still being sent: a bar that moves would claim it.
  return { label, tone, progress: percent === null ? null : { percent } };
}
