import { expect, test } from "vitest";
import type { Request } from "../../src/api/client";
import { ProblemError, UNREACHABLE } from "../../src/kernel/problem";
import { questionOf } from "../../src/search/address";
import type { SearchPageAnswer } from "../../src/search/model";
import { createSearch, withPage } from "../../src/search/search";
import { hit, page } from "../support/hits";

/** A gateway whose answers come when the test says so. */
function gateway() {
  const asked: { variables: Record<string, unknown>; answer: (page: SearchPageAnswer) => void; fail: () => void }[] =
    [];
  const request = ((_document: unknown, variables: Record<string, unknown>) =>
    new Promise((resolve, reject) => {
      const answer = (search: SearchPageAnswer) => resolve({ search });
      asked.push({ variables, answer, fail: () => reject(new ProblemError(UNREACHABLE)) });
    })) as unknown as Request;
  return { asked, search: createSearch(request) };
}

const ids = (search: ReturnType<typeof createSearch>) => search.hits.value.map(({ segmentId }) => segmentId);

test("pages follow each other by their cursor", async () => {
  const { asked, search } = gateway();
  const first = search.ask(questionOf("q=goal"));
  expect(search.first.value.kind).toBe("loading");
  asked[0]?.answer(page([hit("1"), hit("2")], { pageInfo: { hasNextPage: true, endCursor: "two" } }));
  await first;
  expect([ids(search), search.complete.value, search.first.value.kind]).toEqual([["1", "2"], false, "idle"]);
  const more = search.loadMore();
  void search.loadMore(); // one at a time
  expect(asked.map(({ variables }) => variables.after)).toEqual([null, "two"]);
  asked[1]?.answer(page([hit("2"), hit("3")]));
  await more;
  expect([ids(search), search.complete.value]).toEqual([["1", "2", "3"], true]);
});

test("the last question counts, in whichever order the answers come", async () => {
  const { asked, search } = gateway();
  const [one, two] = [search.ask(questionOf("q=one")), search.ask(questionOf("q=two"))];
  asked[1]?.answer(page([hit("two")]));
  await two;
  asked[0]?.answer(page([hit("one")]));
  await one;
  expect(ids(search)).toEqual(["two"]);
  expect(search.isOf(questionOf("q=two"))).toBe(true);
});

test("an earlier question that fails says nothing about a later one", async () => {
  const { asked, search } = gateway();
  const [one, two] = [search.ask(questionOf("q=one")), search.ask(questionOf("q=two"))];
  asked[0]?.fail();
  await one;
  expect(search.first.value.kind).toBe("loading");
  asked[1]?.answer(page([]));
  await two;
  expect(search.first.value.kind).toBe("idle");
});

test("what is there is kept; what failed is asked again", async () => {
  const { asked, search } = gateway();
  const failing = search.ask(questionOf("q=goal"));
  asked[0]?.fail();
  await failing;
  expect(search.first.value.kind).toBe("failed");
  const again = search.ask(questionOf("q=goal"));
  asked[1]?.answer(page([hit("1")]));
  await again;
  await search.ask(questionOf("q=goal"));
  expect(asked).toHaveLength(2);
});

test("nothing is asked where there is nothing to search for", async () => {
  const { asked, search } = gateway();
  await search.ask(questionOf("sort=recency"));
  expect([asked.length, search.first.value.kind]).toEqual([0, "idle"]);
});

test("a hit whose video was just deleted is no hit", () => {
  const gone = { ...hit("1"), vod: null };
  const found = withPage(
    { hits: [], corrections: [], places: [], endCursor: null },
    {
      ...page([hit("2")]),
      edges: [{ node: gone }, { node: hit("2") }],
    },
  );
  expect(found.hits.map(({ segmentId }) => segmentId)).toEqual(["2"]);
});

test("places are counted once, with the first page", async () => {
  const { asked, search } = gateway();
  const places = [{ where: "TITLE", count: 2, hasMore: false }] as const;
  const first = search.ask(questionOf("q=goal"));
  asked[0]?.answer(page([hit("1")], { places, pageInfo: { hasNextPage: true, endCursor: "one" } }));
  await first;
  const more = search.loadMore();
  asked[1]?.answer(page([hit("2")]));
  await more;
  expect(asked.map(({ variables }) => variables.withPlaces)).toEqual([true, false]);
  expect(search.places.value).toEqual(places);
});
