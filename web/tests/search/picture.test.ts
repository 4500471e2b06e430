import { expect, test } from "vitest";
import { boxArea, inPercent, pictureSize } from "../../src/search/picture";

const box = { x: 64, y: 36, width: 320, height: 72, frameWidth: 640, frameHeight: 360 };

test("a box is where the text is, with a little room around it", () => {
  const { left, top, width, height } = boxArea(box) ?? { left: 0, top: 0, width: 0, height: 0 };
  expect([left, top, width, height].map((value) => value.toFixed(1))).toEqual(["9.4", "9.4", "51.2", "21.2"]);
});

test("a box stays on its picture", () => {
  expect(boxArea({ ...box, x: -20, y: 0, width: 2000, height: 360 })).toEqual({
    left: 0,
    top: 0,
    width: 100,
    height: 100,
  });
  expect(boxArea({ ...box, x: 900 })).toMatchObject({ left: 100, width: 0 });
});

test("without the size of the picture there is no place for a box", () => {
  const unknown = { ...box, frameWidth: null, frameHeight: null };
  expect(boxArea(unknown)).toBeNull();
  expect(pictureSize(unknown)).toEqual({ width: 100, height: 100 });
});

test.each([
  [1920, 1080, 100, 100],
  [1080, 1920, 31.64, 100],
  [2560, 1080, 100, 75],
  [640, 480, 75, 100],
])("%i × %i takes %d %% by %d %%", (frameWidth, frameHeight, width, height) => {
  const size = pictureSize({ ...box, frameWidth, frameHeight });
  expect(size.width).toBeCloseTo(width, 1);
  expect(size.height).toBeCloseTo(height, 1);
  expect(size.width === 100 || size.height === 100).toBe(true);
});

test("styles are in percent", () =>
  expect(inPercent({ left: 1.5, width: 20 })).toEqual({ left: "1.5%", width: "20%" }));
