/** Places, ends and events of stored artifacts in words. Pure; the present time comes in. */
import { formatUntil, plural } from "../kernel/format";
import type { StateView } from "../library/states";
import type { Order, Place } from "./address";
import type { HistoryEvent, Stored } from "./model";

const LOCATIONS = new Map<string, string>([
  ["s3", "Object store"],
  ["local", "On nodes"],
  ["freezing", "Moving to store"],
  ["defrosting", "Moving to a node"],
  ["pending", "Pending"],
  ["deleted", "Deleted"],
]);

export function locationWords(location: string | null): string {
  return location === null ? "Unknown" : (LOCATIONS.get(location) ?? location);
}

export function placeWords(place: Place | null): string {
  if (place === null) return "Everything";
  return place === "pinned" ? "Pinned" : locationWords(place);
}

export function orderWords(order: Order): string {
  return order === "ending" ? "Expires first" : "Largest";
}

const MOVING = new Set(["freezing", "defrosting", "pending"]);

export function locationView({ deletedAt, missingSince, storageLocation }: Stored): StateView {
  if (deletedAt !== null) return { label: "Deleted", tone: "quiet", progress: null };
  if (missingSince !== null) return { label: "Missing", tone: "bad", progress: null };
  const tone = storageLocation !== null && MOVING.has(storageLocation) ? "busy" : "good";
  return { label: locationWords(storageLocation), tone, progress: null };
}

/** While it is asked for: what becomes of its end is not known before it is done. */
export function pinningWords(wanted: boolean): string {
  return wanted ? "pinning…" : "unpinning…";
}

/** How long it stays. */
export function endWords({ purgesAt, pinned, expiresAt, canBeUndeleted }: Stored, now: number): string {
  if (purgesAt !== null) return canBeUndeleted ? `purged ${formatUntil(purgesAt, now)}` : "being purged";
  if (pinned) return "pinned, kept";
  return expiresAt === null ? "no expiry yet" : `expires ${formatUntil(expiresAt, now)}`;
}

export function copiesWords(copies: number): string {
  return plural(copies, "copy").replace("copys", "copies");
}

const TYPES = new Map<string, string>([
  ["artifact.registered", "Registered"],
  ["artifact.renamed", "Renamed"],
  ["artifact.original_stored", "Stored in the object store"],
  ["artifact.original_vanished", "Missing from the object store"],
  ["artifact.original_returned", "Back in the object store"],
  ["artifact.undeleted", "Undeleted"],
  ["artifact.purge_due", "Purge started"],
  ["artifact.purged", "Purged"],
  ["artifact.forget_due", "Records due for deletion"],
  ["artifact.holding_released", "No longer used by processing"],
  ["video.purged", "Renditions deleted"],
]);
const STATUSES = new Map<string, string>([
  ["requested", "Requested"],
  ["uploading", "Upload started"],
  ["completing", "Upload checked"],
  ["aborting", "Upload cancelled"],
  ["starting", "Recording starts"],
  ["recording", "Recording"],
  ["stopping", "Recording stops"],
  ["completed", "Recorded"],
  ["completed_partial", "Recorded in part"],
  ["processing", "Processing"],
  ["ready", "Ready"],
  ["failed", "Failed"],
  ["deleted", "Deleted"],
]);

const LIFECYCLE = "artifact.lifecycle";
const MOVES = new Map<string, string>([
  ["freezing", "Moving to the object store"],
  ["defrosting", "Moving to a node"],
  ["local", "On nodes"],
  ["s3", "In the object store only"],
  ["pending", "Not stored yet"],
]);

/** `earlier`: what happened before it, the latest first. Where only the place has changed, the place is the news. */
export function eventWords({ type, metadata }: HistoryEvent, earlier: readonly HistoryEvent[] = []): string {
  const said = facts(metadata);
  if (type === "artifact.pinned" || type === "goal.video_pinned") return said.pinned === true ? "Pinned" : "Unpinned";
  return type === LIFECYCLE ? lifecycleWords(said, earlier) : (TYPES.get(type) ?? type);
}

function lifecycleWords(said: Record<string, unknown>, earlier: readonly HistoryEvent[]): string {
  const [status, place] = [text(said.status), text(said.storage_location)];
  const before = facts(earlier.find((event) => event.type === LIFECYCLE)?.metadata);
  if (place !== "" && before.status === status && before.storage_location !== place) return MOVES.get(place) ?? place;
  return STATUSES.get(status) ?? status;
}

/** Why it failed, where it was: what is worth a second line. */
export function detailWords({ metadata }: HistoryEvent): string {
  const said = facts(metadata);
  const copies = typeof said.local_copies === "number" && said.local_copies > 0 ? copiesWords(said.local_copies) : "";
  return [text(said.error_code), copies].filter(Boolean).join(" · ");
}

const PARTS = new Map<string, string>([
  ["cli", "the command line"],
  ["processing", "processing"],
  ["purge", "the purge"],
  ["retention", "retention, because it expired"],
  ["system", "Touchline"],
  ["touchline", "Touchline"],
  ["watch", "the goal search"],
]);

/** Whom to thank. A token acts for its user; somebody of another tenant is an operator. */
export function actorWords({ actor, actorName }: HistoryEvent): string {
  if (actor === null) return "";
  if (actor.startsWith("token:")) return `by a token of ${actorName ?? "an operator"}`;
  if (actor.startsWith("user:")) return `by ${actorName ?? "an operator"}`;
  return `by ${PARTS.get(actor) ?? actor}`;
}

function facts(metadata: unknown): Record<string, unknown> {
  return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
