import { expect, test } from "vitest";
import type { StreamHandlers } from "../../src/live/follow";
import { createFeed } from "../../src/live/feed";
import type { JobEvent, Stream } from "../../src/live/socket";
import { change, happened } from "../support/jobs";
import { settle } from "../support/time";

function feeding() {
  const opened: { handlers: StreamHandlers<JobEvent>; signal: AbortSignal }[] = [];
  const stream: Stream<JobEvent> = {
    open: (_, __, handlers, signal) => {
      opened.push({ handlers, signal });
      return new Promise(() => undefined);
    },
  };
  const tokens = { accessToken: () => Promise.resolve(""), renew: () => Promise.resolve("") };
  return { feed: createFeed(tokens, new AbortController().signal, stream), opened };
}

function listener() {
  const heard = { events: [] as JobEvent[], gaps: 0 };
  return { heard, onEvent: (event: JobEvent) => heard.events.push(event), onGap: () => (heard.gaps += 1) };
}

test("one connection for all who listen, closed after the last", async () => {
  const { feed, opened } = feeding();
  const [one, other] = [listener(), listener()];
  const stops = [feed.listen(one), feed.listen(other)];
  await settle();
  expect(opened).toHaveLength(1);
  opened[0]?.handlers.onOpen();
  opened[0]?.handlers.onEvent(happened(change()));
  expect([one.heard, other.heard].map(({ events, gaps }) => [events.length, gaps])).toEqual([
    [1, 1],
    [1, 1],
  ]);
  stops[0]?.();
  opened[0]?.handlers.onEvent(happened(change()));
  expect([one.heard.events.length, other.heard.events.length]).toEqual([1, 2]);
  expect(opened[0]?.signal.aborted).toBe(false);
  stops[1]?.();
  expect(opened[0]?.signal.aborted).toBe(true);
  feed.listen(one);
  await settle();
  expect(opened).toHaveLength(2);
});
