import { expect, test } from "vitest";
import {
  endsOf,
  filterOf,
  filtersInUse,
  latencyOf,
  ownRange,
  questionOf,
  rangeWithin,
  rowsOf,
  sessionsPath,
  withFilters,
} from "../../src/sessions/address";
import { exportPath } from "../../src/sessions/exporting";
import { localInput, momentOfInput } from "../../src/sessions/localTime";
import type { Question } from "../../src/sessions/model";
import { everything } from "../support/sessions";

const NOW = Date.parse("2026-11-16T12:00:00Z");

const read = (path: string) => questionOf(path.split("?")[1] ?? "");

test.each<[string, Question]>([
  ["", everything],
  ["view=rows&range=week&order=slowest", { ...everything, view: "rows", range: { span: "week" }, order: "slowest" }],
  [
    "gateway=&swapped=yes&outcome=excused",
    { ...everything, filters: { gateway: "", swapped: "yes", outcome: "excused" } },
  ],
  ["latency=startup:1000-1200.5", { ...everything, filters: { latency: "startup:1000-1200.5" } }],
  ["view=x&range=x&order=x&outcome=x&swapped=x&latency=x:1-2&find=", everything],
  [
    "from=2026-01-08T00:00:00Z",
    { ...everything, range: { span: "own", from: Date.parse("2026-01-08T00:00:00Z"), to: null } },
  ],
  ["from=never&range=hour", { ...everything, range: { span: "hour" } }],
])("%j", (query, question) => {
  expect(questionOf(query)).toEqual(question);
  expect(read(sessionsPath(question))).toEqual(question);
});

test("the usual question has the shortest address", () => expect(sessionsPath(everything)).toBe("/sessions"));

test("ends that were given the wrong way round are turned", () =>
  expect(ownRange(5, 3)).toEqual({ span: "own", from: 3, to: 5 }));

test("a filter is set, and taken away by nothing", () => {
  const narrow = withFilters(everything, { gateway: "gw", outcome: "success" });
  expect(narrow.filters).toEqual({ gateway: "gw", outcome: "success" });
  expect(withFilters(narrow, { gateway: undefined }).filters).toEqual({ outcome: "success" });
  expect(withFilters(narrow, { outcome: "nonsense" }).filters).toEqual({ gateway: "gw" });
});

test("filters count where they mean something", () => {
  const asked = withFilters(everything, { gateway: "", reason: "no_time" });
  expect(filtersInUse(asked)).toEqual(["gateway"]);
  expect(filtersInUse({ ...asked, view: "intake" })).toEqual(["reason"]);
});

test("rows keep what is asked already", () => {
  const asked = withFilters(everything, { model: "m" });
  expect(read(rowsOf(asked, { gateway: "" }, "swaps"))).toEqual({
    ...asked,
    view: "rows",
    filters: { model: "m", gateway: "" },
    order: "swaps",
  });
});

test("a bucket never reaches beyond the range that it was counted in", () => {
  expect(rangeWithin({ span: "day" }, 10, 20)).toEqual({ span: "own", from: 10, to: 20 });
  expect(rangeWithin({ span: "own", from: 12, to: 18 }, 10, 20)).toEqual({ span: "own", from: 12, to: 18 });
  expect(rangeWithin({ span: "own", from: null, to: 18 }, 10, 20)).toEqual({ span: "own", from: 10, to: 18 });
});

test("a span ends now", () => {
  expect(endsOf({ span: "hour" }, NOW)).toEqual({ from: NOW - 3_600_000, to: null });
  expect(filterOf(everything, NOW)).toMatchObject({ from: "2026-11-15T12:00:00.000Z", to: null, gateway: null });
});

test("filters are asked for in the gateway's words", () => {
  const filters = { type: "batch", gateway: "", outcome: "uncounted", swapped: "no", failed: "yes", find: "s-1" };
  const asked = filterOf({ ...everything, filters: { ...filters, latency: "playable:5-10" } }, NOW);
  expect(asked).toMatchObject({ workflowType: "batch", gateway: "", outcome: "NOT_IN_DENOMINATOR", search: "s-1" });
  expect(asked).toMatchObject({ swapped: false, failed: true });
  expect(asked).toMatchObject({ metric: "PROMPT_TO_PLAYABLE", atLeastMs: 5, belowMs: 10 });
});

test.each(["", "startup:1", "startup:-1-2", "startup:1e3-2", "speed:1-2"])("%j is no latency", (text) =>
  expect(latencyOf(text)).toBeNull(),
);

test("an export asks for the same rows, without what is not asked", () => {
  const asked = (filters: Question["filters"]) =>
    Object.fromEntries(new URL(exportPath({ ...everything, filters }, "parquet", NOW), "http://x").searchParams);
  const from = "2026-11-15T12:00:00.000Z";
  expect(asked({ gateway: "", model: "a&b" })).toEqual({ format: "parquet", from, gateway: "", model: "a&b" });
  expect(asked({ type: "batch", outcome: "uncounted", latency: "e2e:5-10", swapped: "no" })).toEqual({
    format: "parquet",
    from,
    workflow_type: "batch",
    outcome: "not_in_denominator",
    metric: "e2e_proxy_ms",
    at_least_ms: "5",
    below_ms: "10",
    swapped: "false",
  });
});

test("a moment goes into a field and comes back", () => {
  const moment = new Date(2026, 0, 8, 21, 9, 5).getTime();
  expect(localInput(moment)).toBe("2026-01-08T21:09:05");
  expect(momentOfInput(localInput(moment))).toBe(moment);
  expect([localInput(null), momentOfInput(""), momentOfInput("soon")]).toEqual(["", null, null]);
});
