import { beforeEach, describe, expect, test } from "vitest";
import type { Video } from "../../src/library/model";
import { ProblemError, problemOf, UNREACHABLE } from "../../src/kernel/problem";
import type { ArrivedParts, UploadDoor } from "../../src/uploads/door";
import { newRecord, type UploadRecord } from "../../src/uploads/records";
import { sendFile, type SendableFile, type Sending } from "../../src/uploads/send";
import type { Checksum } from "../../src/uploads/checksums";
import { Slots } from "../../src/uploads/slots";
import { outcomeOf, type PutOutcome } from "../../src/uploads/transfer";
import { FakeTime } from "../support/time";
import { video } from "../support/videos";

const PART = 10;
const file = Object.assign(new Blob(["x".repeat(25)]), { name: "match.mp4", lastModified: 7 }) as SendableFile;
const conflict = new ProblemError({ code: "conflict", message: "parts are missing", hint: "Send them." });

/** A server and an object store that keep what they get, with failures on demand. */
class World {
  readonly parts = new Map<number, number>();
  readonly records: UploadRecord[] = [];
  readonly keys: string[] = [];
  readonly time = new FakeTime();
  readonly stop = new AbortController();
  outcomes: PutOutcome[] = [];
  creations: Error[] = [];
  completions: Error[] = [];
  known: ArrivedParts | null = null;
  readonly damaged = new Set<number>();
  completedWith: readonly string[] = [];
  checksum: Checksum = (bytes) => bytes.text();
  stored: Video | null = null;
  puts = 0;
  addressed = 0;
  progress: number[] = [];
  onComplete: () => void = () => undefined;

  readonly door: UploadDoor = {
    create: ({ idempotencyKey }) => {
      this.keys.push(idempotencyKey);
      const failure = this.creations.shift();
      if (failure) return Promise.reject(failure);
      const ticket = { vod: video({ status: "uploading" }), partSizeBytes: PART, partCount: 3, parts: [] };
      return Promise.resolve(ticket);
    },
    addresses: (_hash, numbers) => {
      this.addressed += 1;
      return Promise.resolve(numbers.map((number) => ({ number, url: String(number) })));
    },
    arrived: () => {
      const { known, parts } = this;
      const checksums = [...parts].map(([number, size]) => (this.damaged.has(number) ? "other" : "x".repeat(size)));
      return Promise.resolve(
        known && {
          ...known,
          arrived: [...known.arrived, ...parts.keys()],
          checksums: [...known.checksums, ...checksums],
        },
      );
    },
    complete: (_hash, checksums) => {
      this.completedWith = checksums;
      const failure = this.completions.shift();
      this.onComplete();
      return failure ? Promise.reject(failure) : Promise.resolve(video({ status: "completing" }));
    },
    abort: () => Promise.resolve(),
    find: () => Promise.resolve(this.stored),
  };

  readonly put: Sending["put"] = (url, bytes, onProgress, signal) => {
    signal.throwIfAborted();
    this.puts += 1;
    if (this.puts > 3) this.damaged.delete(Number(url));
    const outcome = this.outcomes.shift() ?? "sent";
    onProgress(bytes.size);
    if (outcome === "sent") this.parts.set(Number(url), bytes.size);
    return Promise.resolve(outcome);
  };

  send(record = newRecord(file, "first", 0)): Promise<Video> {
    const { signal } = this.stop;
    return sendFile(file, record, {
      door: this.door,
      put: this.put,
      checksum: (bytes) => this.checksum(bytes),
      slots: new Slots(3),
      retryPolicy: { ...this.time.retryPolicy, signal },
      signal,
      newKey: () => "second",
      onRecord: (kept) => this.records.push(kept),
      onRegistered: () => undefined,
      onProgress: (bytes) => this.progress.push(bytes),
      onSent: () => undefined,
    });
  }
}

let world = new World();
beforeEach(() => {
  world = new World();
});

async function failureOf(sending: Promise<Video>) {
  return problemOf(await sending.catch((error: unknown) => error));
}

describe("a new upload", () => {
  test("sends every byte once, in parts, and completes", async () => {
    expect((await world.send()).status).toBe("completing");
    expect(Object.fromEntries(world.parts)).toEqual({ 1: 10, 2: 10, 3: 5 });
    expect(world).toMatchObject({ puts: 3, addressed: 1 });
    expect(world.progress.at(-1)).toBe(25);
  });

  test("is remembered before the server is asked, and by its hash afterwards", async () => {
    await world.send();
    expect(world.records.map(({ artifactHash }) => artifactHash)).toEqual([null, "a"]);
  });

  test("asks again with the same key when the answer was lost", async () => {
    world.creations = [new ProblemError(UNREACHABLE)];
    await world.send();
    expect(world.keys).toEqual(["first", "first"]);
  });

  test("tells a refusal at once", async () => {
    world.creations = [new ProblemError({ code: "quota_exceeded", message: "full", hint: "Delete something." })];
    expect((await failureOf(world.send())).code).toBe("quota_exceeded");
    expect(world.time.waits).toEqual([]);
  });
});

describe("parts", () => {
  test("are sent again after a failure, after a pause", async () => {
    world.outcomes = ["again", "again"];
    await world.send();
    expect(world.parts.size).toBe(3);
    expect(world.time.waits.length).toBe(2);
  });

  test("get a new address when theirs has expired", async () => {
    world.outcomes = ["expired"];
    await world.send();
    expect(world.parts.size).toBe(3);
    expect(world.addressed).toBeGreaterThan(1);
  });

  test("are given up after a number of failures, with a next step", async () => {
    world.outcomes = Array.from({ length: 99 }, () => "again");
    expect(await failureOf(world.send())).toMatchObject({ code: "unreachable" });
    expect(world.puts).toBeLessThan(30);
  });

  test("that a store refuses with a fresh address too are refused", async () => {
    world.outcomes = Array.from({ length: 99 }, () => "expired");
    expect((await failureOf(world.send())).code).toBe("forbidden");
  });

  test("of an upload that the store does not know end it", async () => {
    world.outcomes = ["gone"];
    expect((await failureOf(world.send())).code).toBe("not_found");
  });

  test.each([
    [200, "sent"],
    [403, "expired"],
    [404, "gone"],
    [500, "again"],
    [0, "again"],
  ])("status %d means %s", (status, outcome) => expect(outcomeOf(status)).toBe(outcome));
});

describe("an interrupted upload", () => {
  const record = { ...newRecord(file, "first", 0), artifactHash: "a" };

  test("goes on with the parts that are missing", async () => {
    world.known = { partSizeBytes: PART, partCount: 3, arrived: [1, 3], checksums: ["x".repeat(10), "x".repeat(5)] };
    await world.send(record);
    expect([...world.parts.keys()]).toEqual([2]);
    expect(world.completedWith).toEqual(["x".repeat(10), "x".repeat(10), "x".repeat(5)]);
    expect(world.progress[0]).toBe(15);
    expect(world.keys).toEqual([]);
  });

  test("sends a part again that the store has otherwise than the file", async () => {
    world.known = { partSizeBytes: PART, partCount: 3, arrived: [1, 3], checksums: ["another file's", "x".repeat(5)] };
    await world.send(record);
    expect([...world.parts.keys()].sort()).toEqual([1, 2]);
  });

  test("that was complete already is done", async () => {
    world.stored = video({ status: "processing" });
    expect((await world.send(record)).status).toBe("processing");
    expect(world.puts).toBe(0);
  });

  test("that the server gave up begins anew, under a new key", async () => {
    await world.send(record);
    expect(world.keys).toEqual(["second"]);
    expect(world.parts.size).toBe(3);
  });
});

describe("completing", () => {
  test("is mended when a part is missing after all", async () => {
    world.completions = [conflict];
    world.known = { partSizeBytes: PART, partCount: 3, arrived: [], checksums: [] };
    world.onComplete = () => {
      if (world.puts === 3) world.parts.delete(2);
    };
    await world.send();
    expect(world.parts.size).toBe(3);
    expect(world.puts).toBe(4);
  });

  test("is mended when a part arrived damaged", async () => {
    world.completions = [new ProblemError({ code: "invalid_input", message: "wrong checksum: 3", hint: "Send it." })];
    world.known = { partSizeBytes: PART, partCount: 3, arrived: [], checksums: [] };
    world.damaged.add(3);
    await world.send();
    expect({ puts: world.puts, damaged: world.damaged.size }).toEqual({ puts: 4, damaged: 0 });
    expect(world.completedWith).toEqual(["x".repeat(10), "x".repeat(10), "x".repeat(5)]);
  });

  test("does not begin with a part that cannot be read any more", async () => {
    world.checksum = () => Promise.resolve(null);
    expect((await failureOf(world.send())).code).toBe("unreachable");
    expect(world.completedWith).toEqual([]);
  });

  test("that succeeded although its answer was lost is a success", async () => {
    world.completions = Array.from({ length: 9 }, () => new ProblemError(UNREACHABLE));
    world.known = null;
    const sending = world.send();
    world.stored = video({ status: "ready" });
    expect((await sending).status).toBe("ready");
  });

  test("tells why a file is not taken", async () => {
    world.completions = [new ProblemError({ code: "invalid_input", message: "not a video", hint: "Choose another." })];
    world.stored = video({ status: "completing" }); // the news of its end may be slower than the answer
    expect((await failureOf(world.send())).message).toBe("not a video");
    expect(world.puts).toBe(3);
  });
});

test("a cancelled upload sends nothing more", async () => {
  const sending = world.send();
  world.stop.abort(new Error("cancelled"));
  await expect(sending).rejects.toThrow("cancelled");
  expect(world.parts.size).toBe(0);
});
