import { expect, test } from "vitest";
import {
  countWords,
  edgeWords,
  filterText,
  formatFigure,
  formatMs,
  formatShare,
  keyWords,
  reasonWords,
  sessionName,
  shortAddress,
} from "../../src/sessions/words";

test.each([
  [null, "–"],
  [0, "0 ms"],
  [105, "105 ms"],
  [2655, "2,655 ms"],
  [12_340, "12.3 s"],
  [20_000, "20 s"],
  [200_000, "3:20 min"],
  [3_599_600, "1:00 h"],
  [7_260_000, "2:01 h"],
])("%j is %s", (milliseconds, words) => expect(formatMs(milliseconds)).toBe(words));

test.each([
  [0, 0, "–"],
  [0, 9, "0%"],
  [9, 9, "100%"],
  [1, 3, "33.3%"],
  [9999, 10_000, "> 99.9%"],
  [1, 10_000, "< 0.1%"],
])("%i of %i is %s", (part, all, words) => expect(formatShare(part, all)).toBe(words));

const stranger = { id: "", gateway: null, video: null, goalTitle: null, stream: null, workflowId: null };

test.each([
  ["stream-1|request-2", "stream-1 · request-2"],
  ["stream-1|_missing_request", "stream-1"],
  ["_missing_stream|r|more", "r · more"],
  ["_missing_stream|_missing_request", "_missing_stream|_missing_request"],
])("%j is called %j", (id, name) => expect(sessionName({ ...stranger, id })).toBe(name));

test("our own work is called by its video or its goal", () => {
  const video = { title: "Final", playbackId: "abcdefgh12345678" };
  const own = { ...stranger, id: "a|b", gateway: "touchline", video };
  expect(sessionName({ ...own, workflowId: "transcode" })).toBe("Final · Convert");
  expect(sessionName({ ...own, workflowId: "upload", video: { ...video, title: "" } })).toBe("Untitled video · Upload");
  expect(sessionName({ ...own, workflowId: "ocr", video: null })).toBe("Deleted video · Read text");
  const goal = { ...own, video: null, goalTitle: "Arsenal 1-0 Chelsea, B. Saka 3'" };
  expect(sessionName({ ...goal, workflowId: "goal_search" })).toBe("Arsenal 1-0 Chelsea, B. Saka 3' · Goal search");
  expect(sessionName({ ...goal, workflowId: "validation", goalTitle: null })).toBe("Removed goal · Video check");
  const live = { ...own, video: null, stream: { title: "The derby", streamId: "a" }, workflowId: "publish" };
  expect(sessionName(live)).toBe("The derby · Live");
  expect(sessionName({ ...live, stream: null })).toBe("Deleted stream · Live");
});

test("addresses are shortened, other names are not", () => {
  expect(shortAddress("0x52cf2968b3dc6016778742d3539449a6597d5954")).toBe("0x52cf29…7d5954");
  expect(shortAddress("gw-frankfurt-1")).toBe("gw-frankfurt-1");
  expect([keyWords("gpu", null), keyWords("model", ""), keyWords("type", "batch")]).toEqual([
    "Unknown",
    "Unknown",
    "Batch",
  ]);
  expect(keyWords("hour", "07")).toBe("07:00 UTC");
});

test.each([
  ["gateway", "", "Gateway: Unknown"],
  ["outcome", "uncounted", "Outcome: Not counted"],
  ["swapped", "no", "Not swapped"],
  ["failed", "yes", "Failed"],
  ["latency", "startup:1000-12000", "Startup: 1,000 ms – 12 s"],
  ["find", "abc", "Id: abc"],
] as const)("%s=%s is %s", (name, value, words) => expect(filterText(name, value)).toBe(words));

test("names that are newer than this page are said as they are written", () => {
  expect(edgeWords("runner_send_last_segment")).toBe("Runner send last segment");
  expect(reasonWords("too_old")).toBe("Too old");
  expect(keyWords("type", "unknown_thing")).toBe("unknown_thing");
});

test("figures and counts", () => {
  expect([formatFigure(null, "FPS"), formatFigure(17.298, "FPS"), formatFigure(1234.5, "ms")]).toEqual([
    "–",
    "17.3 FPS",
    "1,235 ms",
  ]);
  expect([countWords(1), countWords(9999), countWords(10_000)]).toEqual([
    "1 session",
    "9,999 sessions",
    "10,000 sessions or more",
  ]);
});
