/** Contrast of every pair that carries text or marks a control, computed from the tokens (WCAG 2.2 AA). */
import { expect, test } from "vitest";
import tokens from "../../src/design/tokens.css?raw";

type Colour = readonly [red: number, green: number, blue: number];
const THEMES = ["light", "dark"] as const;

const TEXT_PAIRS = [
  ["text", "ground"],
  ["text", "surface"],
  ["text", "raised"],
  ["text", "quiet-soft"],
  ["text-quiet", "ground"],
  ["text-quiet", "surface"],
  ["text-quiet", "raised"],
  ["text-quiet", "quiet-soft"],
  ["on-accent", "accent"],
  ["on-accent", "accent-strong"],
  ["accent", "raised"],
  ["on-accent-soft", "accent-soft"],
  ["on-danger", "danger"],
  ["on-danger", "danger-strong"],
  ["on-danger-soft", "danger-soft"],
  ["on-danger-soft", "surface"],
  ["on-danger-soft", "raised"],
  ["on-info-soft", "info-soft"],
  ["on-warning-soft", "warning-soft"],
  ["on-stage", "stage"],
  ["on-stage-quiet", "stage"],
  ["on-stage-accent", "stage-accent"],
  ["on-pitch", "pitch"],
] as const;

const CONTROL_PAIRS = [
  ["line-strong", "surface"],
  ["accent", "ground"],
  ["accent", "surface"],
  ["accent", "quiet-soft"],
  ["stage-accent", "stage"],
  ["chart-1", "surface"],
  ["chart-2", "surface"],
  ["chart-3", "surface"],
  ["chart-4", "surface"],
  ["chart-5", "surface"],
] as const;

function colour(name: string, theme: (typeof THEMES)[number]): Colour {
  const declared = new RegExp(`--${name}:\\s*(.+);`).exec(tokens)?.[1] ?? "";
  const found = [...declared.matchAll(/oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/g)];
  const [, lightness, chroma, hue] = (theme === "dark" ? found.at(-1) : found[0]) ?? [];
  expect(lightness, `--${name}`).toBeDefined();
  return fromOklch(Number(lightness), Number(chroma), Number(hue));
}

/** To linear sRGB, clipped as a screen does. */
function fromOklch(lightness: number, chroma: number, hue: number): Colour {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (value: number) => Math.min(1, Math.max(0, value));
  return [
    clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function contrast(one: Colour, other: Colour): number {
  const luminance = ([red, green, blue]: Colour) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const [dark, light] = [luminance(one), luminance(other)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

test("the calculation is right where the answer is known", () => {
  expect(contrast(fromOklch(1, 0, 0), fromOklch(0, 0, 0))).toBeCloseTo(21, 1);
});

test.each(THEMES)("text is readable: %s", (theme) => {
  const poor = TEXT_PAIRS.filter(([text, ground]) => contrast(colour(text, theme), colour(ground, theme)) < 4.5);
  expect(poor).toEqual([]);
});

test.each(THEMES)("controls can be seen: %s", (theme) => {
  const poor = CONTROL_PAIRS.filter(([mark, ground]) => contrast(colour(mark, theme), colour(ground, theme)) < 3);
  expect(poor).toEqual([]);
});
