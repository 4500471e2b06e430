import { describe, expect, test } from "vitest";
import { chosenOf, filterOf, storagePath } from "../../src/storage/address";
import { placesOf, type HistoryEvent, type Stored } from "../../src/storage/model";
import { actorWords, detailWords, endWords, eventWords, locationView } from "../../src/storage/words";

const NOW = Date.parse("2026-03-31T12:00:00Z");
const IN_TWO_DAYS = "2026-04-02T13:00:00Z";

function stored(changes: Partial<Stored>): Stored {
  return {
    artifactHash: "a",
    artifactType: "upload",
    playbackId: "p",
    title: "A match",
    status: "ready",
    sizeBytes: 5,
    storageLocation: "s3",
    localCopies: 0,
    pinned: false,
    createdAt: "2026-03-01T00:00:00Z",
    expiresAt: null,
    deletedAt: null,
    purgesAt: null,
    canBeUndeleted: false,
    missingSince: null,
    ...changes,
  };
}

function event(changes: Partial<HistoryEvent>): HistoryEvent {
  const known = { id: "1", type: "artifact.lifecycle", actor: null, actorName: null, occurredAt: "", metadata: {} };
  return { ...known, ...changes };
}

test("an address chooses a place and an order, and nonsense chooses nothing", () => {
  expect(chosenOf("place=deleted&order=largest")).toEqual({ place: "deleted", order: "largest" });
  expect(chosenOf("place=cellar&order=random")).toEqual({ place: null, order: "ending" });
  expect(storagePath({ place: null, order: "ending" })).toBe("/storage");
  expect(storagePath({ place: "s3", order: "largest" })).toBe("/storage?place=s3&order=largest");
  expect([filterOf(null), filterOf("pinned"), filterOf("local")]).toEqual([
    {},
    { pinned: true },
    { location: "local" },
  ]);
});

test("kinds in one place are one sum, the largest first", () => {
  const tiers = [
    { location: "s3", artifacts: 1, sizeBytes: 10 },
    { location: "local", artifacts: 2, sizeBytes: 100 },
    { location: "s3", artifacts: 3, sizeBytes: 30 },
  ];
  expect(placesOf(tiers)).toEqual([
    { location: "local", artifacts: 2, sizeBytes: 100 },
    { location: "s3", artifacts: 4, sizeBytes: 40 },
  ]);
});

describe("an artifact", () => {
  test.each([
    [{ expiresAt: IN_TWO_DAYS }, "expires in 2 days"],
    [{ pinned: true, expiresAt: null }, "pinned, kept"],
    [{}, "no expiry yet"],
    [{ deletedAt: "x", purgesAt: IN_TWO_DAYS, canBeUndeleted: true }, "purged in 2 days"],
    [{ deletedAt: "x", purgesAt: IN_TWO_DAYS }, "being purged"],
  ])("%o ends: %s", (changes, words) => expect(endWords(stored(changes), NOW)).toBe(words));

  test.each([
    [{}, "Object store", "good"],
    [{ storageLocation: "defrosting" }, "Moving to a node", "busy"],
    [{ missingSince: "x" }, "Missing", "bad"],
    [{ deletedAt: "x" }, "Deleted", "quiet"],
    [{ storageLocation: null }, "Unknown", "good"],
  ])("%o lies: %s", (changes, label, tone) => expect(locationView(stored(changes))).toMatchObject({ label, tone }));
});

describe("an event", () => {
  test.each([
    [{ metadata: { status: "ready" } }, "Ready"],
    [{ metadata: { status: "of a later version" } }, "of a later version"],
    [{ type: "artifact.pinned", metadata: { pinned: true } }, "Pinned"],
    [{ type: "artifact.pinned", metadata: { pinned: false } }, "Unpinned"],
    [{ type: "artifact.undeleted" }, "Undeleted"],
    [{ type: "of.tomorrow" }, "of.tomorrow"],
  ])("%o is called %s", (changes, words) => expect(eventWords(event(changes))).toBe(words));

  test.each([
    [{ actor: "user:1", actorName: "Ada" }, "by Ada"],
    [{ actor: "token:1", actorName: "Ada" }, "by a token of Ada"],
    [{ actor: "user:2" }, "by an operator"],
    [{ actor: "cli" }, "by the command line"],
    [{ actor: "retention" }, "by retention, because it expired"],
    [{ actor: null }, ""],
  ])("%o was done %s", (changes, words) => expect(actorWords(event(changes))).toBe(words));

  test("says where it went when nothing else has changed", () => {
    const placed = (storage_location: string) =>
      event({ type: "artifact.lifecycle", metadata: { status: "ready", storage_location } });
    const pinned = event({ type: "artifact.pinned", metadata: { pinned: true } });
    const history = [placed("s3"), placed("freezing"), pinned, placed("local"), placed("defrosting"), placed("s3")];
    expect(history.map((one, index) => eventWords(one, history.slice(index + 1)))).toEqual([
      "In the object store only",
      "Moving to the object store",
      "Pinned",
      "On nodes",
      "Moving to a node",
      "Ready",
    ]);
  });

  test("says why it failed and how many copies there are", () => {
    expect(detailWords(event({ metadata: { error_code: "not_a_video", local_copies: 2 } }))).toBe(
      "not_a_video · 2 copies",
    );
    expect(detailWords(event({ metadata: null }))).toBe("");
  });
});
