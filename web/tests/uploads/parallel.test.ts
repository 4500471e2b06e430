import { expect, test } from "vitest";
import { Addresses } from "../../src/uploads/addresses";
import { Slots } from "../../src/uploads/slots";
import { settle } from "../support/time";

test("never more at once than there are slots, first come first served, also after a failure", async () => {
  const slots = new Slots(2);
  const running = new Set<number>();
  const started: number[] = [];
  const ends: (() => void)[] = [];
  let most = 0;
  const work = (number: number) => async () => {
    running.add(number);
    started.push(number);
    most = Math.max(most, running.size);
    await new Promise<void>((resolve) => ends.push(resolve));
    running.delete(number);
    if (number === 1) throw new Error("one fails");
  };
  const all = [1, 2, 3, 4, 5].map((number) => slots.run(work(number)));
  const outcomes = Promise.allSettled(all);
  for (let turn = 0; turn < 5; turn += 1) {
    await settle();
    ends.shift()?.();
  }
  expect((await outcomes).map(({ status }) => status)).toEqual([
    "rejected",
    ...Array.from({ length: 4 }, () => "fulfilled"),
  ]);
  expect({ most, started }).toEqual({ most: 2, started: [1, 2, 3, 4, 5] });
});

function asking() {
  const asked: (readonly number[])[] = [];
  const addresses = new Addresses(
    (numbers) => {
      asked.push(numbers);
      return Promise.resolve(numbers.map((number) => ({ number, url: `${asked.length}/${number}` })));
    },
    [1, 2, 3, 4],
    [{ number: 1, url: "0/1" }],
  );
  return { addresses, asked };
}

test("addresses that came with the ticket are used, others asked for together", async () => {
  const { addresses, asked } = asking();
  expect(await addresses.of(1)).toBe("0/1");
  expect(await addresses.of(2)).toBe("1/2");
  expect(await addresses.of(3)).toBe("1/3");
  expect(asked).toEqual([[2, 3, 4]]);
});

test("parts that ask at the same time share one question", async () => {
  const { addresses, asked } = asking();
  await Promise.all([addresses.of(2), addresses.of(3), addresses.of(4)]);
  expect(asked).toEqual([[2, 3, 4]]);
});

test("an expired address is forgotten with all others; what has arrived needs none", async () => {
  const { addresses, asked } = asking();
  await addresses.of(2);
  addresses.done(3);
  addresses.forget();
  expect(await addresses.of(1)).toBe("2/1");
  expect(asked).toEqual([
    [2, 3, 4],
    [1, 2, 4],
  ]);
});
