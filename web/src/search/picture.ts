/** Where things lie on a picture of any shape in a place of 16 to 9, in percent. Pure. */
import type { Box } from "./model";

const PLACE_RATIO = 16 / 9;
const MARGIN_PERCENT = 0.6; // around the letters, so that the line does not cross them

/** Left, top, width and height. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** How much of the place a picture takes when the whole of it is shown. */
export function pictureSize({ frameWidth, frameHeight }: Box): Pick<Area, "width" | "height"> {
  if (!frameWidth || !frameHeight) return { width: 100, height: 100 };
  const ratio = frameWidth / frameHeight / PLACE_RATIO;
  return { width: 100 * Math.min(1, ratio), height: 100 * Math.min(1, 1 / ratio) };
}

/** The box on its picture; null where the size of the picture is not known. Never beyond its edges. */
export function boxArea({ x, y, width, height, frameWidth, frameHeight }: Box): Area | null {
  if (!frameWidth || !frameHeight) return null;
  const [left, right] = span(x, width, frameWidth);
  const [top, bottom] = span(y, height, frameHeight);
  return { left, top, width: right - left, height: bottom - top };
}

function span(start: number, length: number, whole: number): [number, number] {
  const percent = (value: number) => Math.min(100, Math.max(0, value));
  return [percent((start / whole) * 100 - MARGIN_PERCENT), percent(((start + length) / whole) * 100 + MARGIN_PERCENT)];
}

export function inPercent(area: Partial<Area>): Record<string, string> {
  return Object.fromEntries(Object.entries(area).map(([side, value]) => [side, `${value}%`]));
}
