import { expect, test } from "vitest";
import { dayOf, dayPath, namedPath, wordsOf } from "../../src/matches/address";
import {
  chosenDay,
  figuresOf,
  goalKey,
  goneGoal,
  groupsOf,
  isOfDay,
  percentile,
  readAgainAfter,
  toneOf,
  withoutGone,
} from "../../src/matches/rules";
import {
  dayFacts,
  dayWords,
  failureTitle,
  failureWords,
  figureWords,
  goalName,
  goalVideoWords,
  isAddress,
  matchFacts,
  minuteWords,
  namedWords,
  searchFacts,
  statusWords,
  videoFacts,
} from "../../src/matches/words";
import { goal, goalVideo, happened, match } from "../support/matches";
import { video } from "../support/videos";

const NOW = Date.parse("2026-11-15T21:00:00Z");
const TODAY = "2026-11-15";
const days = (...named: string[]) => named.map((day) => ({ day, matches: 1, live: 0, goals: 0, covered: 0 }));

test.each([
  [["2026-11-14", TODAY, "2026-11-16"], "", TODAY],
  [["2026-11-14", TODAY], "2026-11-14", "2026-11-14"],
  [["2026-11-14", TODAY], "2026-11-01", TODAY],
  [["2026-11-13", "2026-11-14", "2026-11-20"], "", "2026-11-14"],
  [["2026-11-21", "2026-11-20"], "", "2026-11-20"],
  [[], "", null],
])("of %j, asked for %j, one sees %j", (known, asked, chosen) =>
  expect(chosenDay(days(...known), asked, TODAY)).toBe(chosen),
);

test("what is played comes first, then what was played, then what comes; each by kick-off", () => {
  const at = (id: string, status: string, hour: number) =>
    match({ id, status, kickOff: `2026-11-15T${hour}:00:00+00:00` });
  const all = [at("1", "NS", 22), at("2", "FT", 15), at("3", "2H", 20), at("4", "HT", 19), at("5", "NEW", 12)];
  const shown = groupsOf(all).map(({ title, matches }) => [title, ...matches.map(({ id }) => id)]);
  expect(shown).toEqual([
    ["Live now", "4", "3"],
    ["Played", "5", "2"],
    ["Upcoming", "1"],
  ]);
});

test("a goal that was taken away stays away, and another one with its id does not", () => {
  const gone = new Set([goneGoal(happened({ what: "removed" })) ?? ""]);
  const again = goal({ generation: 2 });
  expect(withoutGone(match({ goals: [goal(), again] }), gone).goals).toEqual([again]);
  const untouched = match();
  expect(withoutGone(untouched, new Set())).toBe(untouched);
  expect(goneGoal(happened({ what: "moved" }))).toBe(goalKey(goal()));
  expect(goneGoal(happened({ what: "video_dropped" }))).toBeNull();
  expect(goneGoal(happened({ what: "removed", eventId: null, generation: null }))).toBeNull();
});

test.each([
  ["complete", [goalVideo()], "good"],
  ["complete", [], "bad"],
  ["seen", [], "quiet"],
  ["unidentified", [], "quiet"],
  ["validating", [], "busy"],
] as const)("%s with %j is %s", (state, videos, tone) => expect(toneOf({ state, videos })).toBe(tone));

test("a day ends at midnight in UTC, and is in the address", () => {
  expect(isOfDay({ kickOff: "2026-11-16T00:30:00+01:00" }, TODAY)).toBe(true);
  expect(isOfDay({ kickOff: "2026-11-16T00:00:00+00:00" }, TODAY)).toBe(false);
  expect(dayOf(dayPath(TODAY).split("?")[1] ?? "")).toBe(TODAY);
  expect(dayOf("day=yesterday")).toBe("");
});

test("the figures of a day are those of its goals", () => {
  const after = (firstVideoSeconds: number) =>
    goal({ videos: [goalVideo()], telemetry: { ...goal().telemetry, firstVideoSeconds } });
  const figures = figuresOf([match({ goals: [after(90), goal()] }), match({ goals: [after(30), after(48)] })]);
  expect(figures).toEqual({ goals: 4, covered: 3, firstVideoSeconds: [30, 48, 90] });
  expect(figureWords(figures)).toBe(
    "4 goals · 3 with a video (75%) · first video within 48 s for half of the goals, within 2 min for 95%",
  );
  expect(figureWords(figuresOf([]))).toBe("No goals yet");
  expect([percentile([], 50), percentile([1], 1), percentile([1, 2, 3, 4], 50)]).toEqual([null, 1, 2]);
});

test.each([
  [{ status: "2H", elapsed: 67 }, "67′"],
  [{ status: "1H", elapsed: null }, "Live"],
  [{ status: "HT", elapsed: 45 }, "Half-time"],
  [{ status: "FT", elapsed: 90 }, "Full time"],
  [{ status: "NEW", elapsed: null }, "NEW"],
])("%j reads %s", (given, words) => expect(statusWords(match(given))).toBe(words));

test("goals, days and videos in words", () => {
  expect(statusWords(match({ status: "NS" }))).toMatch(/^\d\d:\d\d$/);
  expect([minuteWords(goal()), minuteWords(goal({ minute: 45, extraMinute: 2 }))]).toEqual(["23′", "45+2′"]);
  expect(goalName(goal({ playerName: null }))).toBe("23′ Scorer unknown, Arsenal, 1 to 0");
  expect([TODAY, "2026-11-14", "2026-11-16"].map((day) => dayWords(day, NOW))).toEqual([
    "Today",
    "Yesterday",
    "Tomorrow",
  ]);
  expect(dayWords("2026-11-01", NOW)).toMatch(/^Sun,? 1 Nov$/);
  expect([
    dayFacts({ matches: 1, live: 0 }),
    dayFacts({ matches: 9, live: 0 }),
    dayFacts({ matches: 9, live: 2 }),
  ]).toEqual(["1 match", "9 matches", "2 live"]);
  expect(videoFacts(goalVideo({ verified: false, clock: null }))).toEqual([
    "1280 × 720",
    "found 3 times",
    "minute not verified",
  ]);
  expect(
    searchFacts(goal({ telemetry: { ...goal().telemetry, attempts: 1, found: 5, firstVideoSeconds: 48 } })),
  ).toEqual(["1 search", "5 found", "first after 48 s"]);
});

test("a match says how many of its goals have a video, and what stood in the way", () => {
  const telemetry = { ...match().telemetry, goals: 2, covered: 1, firstVideoP50Seconds: 30, firstVideoP95Seconds: 30 };
  const topFailure = { words: "not football", count: 3 };
  expect(matchFacts(match({ telemetry: { ...telemetry, topFailure } }))).toEqual([
    "1 of 2 goals with a video",
    "first video within 30 s",
    "most common reason: not football",
  ]);
  expect(matchFacts(match({ telemetry: { ...telemetry, covered: 2, topFailure } }))).toHaveLength(2);
  expect(matchFacts(match({ telemetry: { ...telemetry, goals: 0 } }))).toEqual([]);
});

test("only pages are linked to", () => {
  expect(["https://x.com/a", "HTTP://a.example", "javascript:alert(1)", "//a"].map(isAddress)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

const FEED = { isEnabled: true, answeredAt: null, failure: null, why: null, hint: null, nextTryAt: null };
const AWAY = { ...FEED, failure: "the football feed cannot be reached", why: "connection refused" };

test.each([
  ["nobody has said anything yet", null, [], null],
  ["football is not watched", { ...FEED, isEnabled: false }, [], null],
  ["matches are on their way", FEED, [], 10_000],
  ["there are matches", FEED, days(TODAY), null],
  [
    "it failed, and is asked again in eight seconds",
    { ...AWAY, nextTryAt: "2026-11-15T21:00:08Z" },
    days(TODAY),
    10_000,
  ],
  ["its next try is over", { ...AWAY, nextTryAt: "2026-11-15T20:00:00Z" }, [], 2000],
  ["its next try is far away", { ...AWAY, nextTryAt: "2026-11-15T23:00:00Z" }, [], 60_000],
])("when %s, it is read again after a while or not", (_, feed, known, after) => {
  expect(readAgainAfter(feed, known, NOW)).toBe(after);
});

test("a feed that is away is told with its next try", () => {
  const failed = { ...AWAY, nextTryAt: "2026-11-15T21:00:08Z" };
  expect(failureTitle(failed)).toBe("The football feed cannot be reached");
  expect(failureWords(failed)).toMatch(/^Next try at \d\d:\d\d:08\. Reason: connection refused\.$/);
  const refused = { why: "HTTP 401", hint: "Check `feed.key`.", nextTryAt: null };
  expect(failureWords(refused)).toBe("Reason: HTTP 401. Check `feed.key`.");
});

test("a video that is just arriving or going is on its way, whatever is known of it", () => {
  expect(goalVideoWords(null)).toBe("Processing");
  for (const lifecycleKnown of [true, false])
    expect(goalVideoWords(video({ status: null, lifecycleKnown }))).toBe("Processing");
  expect(goalVideoWords(video({ status: "processing", progressPercent: 40 }))).toBe("Processing 40%");
  expect(goalVideoWords(video({ status: "failed", errorCode: "Cancelled" }))).toBe("Cancelled");
});

test("what matches are searched for stands in the address", () => {
  expect(wordsOf("q=+Atl%C3%A9tico+saka+")).toBe("Atlético saka");
  expect(wordsOf("day=2026-11-15")).toBe("");
  expect(wordsOf(namedPath("real & co").split("?")[1] ?? "")).toBe("real & co");
  expect(namedPath("  ")).toBe("/matches");
  expect([namedWords(0, "x"), namedWords(1, "x"), namedWords(2, "x")]).toEqual([
    "No match for “x”",
    "1 match for “x”",
    "2 matches for “x”",
  ]);
});
