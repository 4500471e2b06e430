import { expect, test } from "vitest";
import { follow, type Ending, type StreamHandlers } from "../../src/live/follow";
import { FakeTime } from "../support/time";

interface Event {
  readonly cursor: string;
}

/** One connection of a script: what it delivers, how long it lasts, why it ends. */
interface Connection {
  readonly opens?: boolean;
  readonly events?: readonly string[];
  readonly lastsMs?: number;
  readonly ending?: Ending;
}

async function play(script: readonly Connection[]) {
  const time = new FakeTime();
  const life = new AbortController();
  const left = [...script];
  const seen = { afters: [] as (string | null)[], events: [] as string[], states: [] as string[], gaps: 0 };
  const open = (after: string | null, handlers: StreamHandlers<Event>): Promise<Ending> => {
    seen.afters.push(after);
    const { opens = true, events = [], lastsMs = 0, ending = "closed" } = left.shift() ?? {};
    if (opens) handlers.onOpen();
    events.forEach((cursor) => handlers.onEvent({ cursor }));
    time.now += lastsMs;
    if (left.length === 0) life.abort();
    return Promise.resolve(ending);
  };
  await follow<Event>(
    {
      open,
      onEvent: ({ cursor }) => seen.events.push(cursor),
      onState: (state) => seen.states.push(state),
      onGap: () => (seen.gaps += 1),
      wait: time.wait,
      random: () => 1,
      now: () => time.now,
    },
    life.signal,
  );
  return { ...seen, waits: time.waits };
}

test("it goes on behind the last event it has handed over", async () => {
  const seen = await play([{ events: ["1", "2"] }, {}, { events: ["3"] }, {}]);
  expect(seen.afters).toEqual([null, "2", "2", "3"]);
  expect(seen.events).toEqual(["1", "2", "3"]);
});

test("only a stream that begins without a cursor leaves a gap", async () => {
  expect((await play([{ events: ["1"] }, {}, {}])).gaps).toBe(1);
  expect((await play([{}, {}])).gaps).toBe(2);
});

test("a stream that never opened leaves no gap to fill yet", async () => {
  expect((await play([{ opens: false }, { opens: false }])).gaps).toBe(0);
});

test("a cursor that is refused is forgotten, and the gap is told", async () => {
  const seen = await play([{ events: ["1"] }, { opens: true, ending: "cursor-refused" }, { events: ["9"] }]);
  expect(seen.afters).toEqual([null, "1", null]);
  expect(seen.gaps).toBe(2);
});

test("pauses grow while nothing works, and are short again after something did", async () => {
  const failing = { opens: false };
  const seen = await play([failing, failing, failing, { events: ["1"] }, failing, {}]);
  expect(seen.waits).toEqual([500, 1000, 2000, 500, 1000]);
});

test("a server that accepts and hangs up at once is not asked at once", async () => {
  expect((await play([{}, {}, {}, {}])).waits).toEqual([500, 1000, 2000]);
});

test("a connection that lasted was a good one", async () => {
  expect((await play([{}, {}, { lastsMs: 60_000 }, {}])).waits).toEqual([500, 1000, 500]);
});

test("the state says what is going on", async () => {
  const { states } = await play([{ opens: false }, {}]);
  expect(states).toEqual(["connecting", "waiting", "connecting", "live"]);
});
