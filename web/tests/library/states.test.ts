import { expect, test } from "vitest";
import { stateView } from "../../src/library/states";
import { video } from "../support/videos";

test.each([
  ["ready", { label: "Ready", tone: "good", progress: null }],
  ["failed", { label: "Failed", tone: "bad", progress: null }],
  ["processing", { label: "Processing", tone: "busy", progress: { percent: 42 } }],
  ["uploading", { label: "Uploading", tone: "busy", progress: { percent: 42 } }],
  [null, { label: "Requested", tone: "quiet", progress: null }],
  ["teleporting", { label: "teleporting", tone: "quiet", progress: null }],
])("%s", (status, view) => expect(stateView(video({ status, progressPercent: 42 }), null)).toEqual(view));

test.each([
  ["Cancelled", "Cancelled"],
  ["upload_aborted", "Cancelled"],
  ["upload_abandoned", "Abandoned"],
])("what ended by %s did not fail", (errorCode, label) =>
  expect(stateView(video({ status: "failed", errorCode }), null)).toEqual({ label, tone: "quiet", progress: null }),
);

test("an error of before says nothing about what is processed again", () => {
  expect(stateView(video({ status: "processing", errorCode: "Cancelled" }), null).label).toBe("Processing");
});

test("unknown is what nobody answered for", () => {
  expect(stateView(video({ status: null, lifecycleKnown: false }), null).label).toBe("State unknown");
});

test("this browser knows best how much it has sent", () => {
  expect(stateView(video({ status: "uploading", progressPercent: 10 }), 33).progress).toEqual({ percent: 33 });
});

test("an upload that nobody here sends claims no movement; processing of unknown length does", () => {
  expect(stateView(video({ status: "uploading" }), null).progress).toBeNull();
  expect(stateView(video({ status: "processing" }), null).progress).toEqual({ percent: null });
});
