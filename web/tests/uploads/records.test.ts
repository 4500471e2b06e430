import { expect, test } from "vitest";
import { newRecord, UploadRecords, type RecordStorage } from "../../src/uploads/records";

const DAY = 24 * 60 * 60 * 1000;
const file = { name: "match.mp4", size: 100, lastModified: 7 };

function storage(kept = new Map<string, string>()): RecordStorage & { readonly kept: Map<string, string> } {
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

test("an upload is found again by its file, after a reload", () => {
  const place = storage();
  new UploadRecords(place, "me", () => 0).keep(newRecord(file, "key", 0));
  const reloaded = new UploadRecords(place, "me", () => 0);
  expect(reloaded.find({ ...file })).toMatchObject({ idempotencyKey: "key", artifactHash: null });
  expect(reloaded.find({ ...file, size: 101 })).toBeUndefined();
  expect(reloaded.find({ ...file, lastModified: 8 })).toBeUndefined();
  expect(reloaded.find({ ...file, name: "other.mp4" })).toBeUndefined();
});

test("what becomes known later replaces what was kept", () => {
  const records = new UploadRecords(storage(), "me", () => 0);
  const record = newRecord(file, "key", 0);
  records.keep(record);
  records.keep({ ...record, artifactHash: "a" });
  expect(records.all()).toEqual([{ ...record, artifactHash: "a" }]);
});

test("nothing is left when all is done", () => {
  const place = storage();
  const records = new UploadRecords(place, "me", () => 0);
  records.keep(newRecord(file, "key", 0));
  records.drop("key");
  expect(place.kept.size).toBe(0);
});

test("others who sign in here see none of it", () => {
  const place = storage();
  new UploadRecords(place, "me", () => 0).keep(newRecord(file, "key", 0));
  expect(new UploadRecords(place, "you", () => 0).all()).toEqual([]);
});

test("after a week the server has given it up, and so do we", () => {
  const clock = { now: 0 };
  const records = new UploadRecords(storage(), "me", () => clock.now);
  records.keep(newRecord(file, "key", 0));
  clock.now = 8 * DAY;
  expect(records.find(file)).toBeUndefined();
});

test.each(["no json", "{}", '[{"idempotencyKey":1}]', "[null]"])("stored %j is ignored", (stored) => {
  const place = storage(new Map([["touchline.uploads.me", stored]]));
  expect(new UploadRecords(place, "me", () => 0).all()).toEqual([]);
});

test("uploads work where storage does not", () => {
  const refuse = () => {
    throw new DOMException("no", "SecurityError");
  };
  const records = new UploadRecords({ getItem: refuse, setItem: refuse, removeItem: refuse }, "me", () => 0);
  records.keep(newRecord(file, "key", 0));
  records.drop("key");
  expect(records.all()).toEqual([]);
});
