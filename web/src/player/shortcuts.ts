/** Which key does what in the player. Pure. Fields keep all their keys, buttons and sliders those they need. */

export type Shortcut =
  | { readonly kind: "toggle" }
  | { readonly kind: "seek"; readonly seconds: number }
  | { readonly kind: "volume"; readonly change: number }
  | { readonly kind: "mute" }
  | { readonly kind: "captions" }
  | { readonly kind: "fullscreen" };

export interface KeyPress {
  readonly key: string;
  readonly hasModifier: boolean;
  readonly focus: Focus;
}

/** What has the focus: a field to type in, a slider, something to press, or nothing of these. */
export type Focus = "field" | "slider" | "button" | "page";

const ARROWS = new Map<string, Shortcut>([
  ["arrowleft", { kind: "seek", seconds: -5 }],
  ["arrowright", { kind: "seek", seconds: 5 }],
  ["arrowup", { kind: "volume", change: 0.1 }],
  ["arrowdown", { kind: "volume", change: -0.1 }],
]);

const LETTERS = new Map<string, Shortcut>([
  ["k", { kind: "toggle" }],
  ["j", { kind: "seek", seconds: -10 }],
  ["l", { kind: "seek", seconds: 10 }],
  ["f", { kind: "fullscreen" }],
  ["m", { kind: "mute" }],
  ["c", { kind: "captions" }],
]);

export const SHORTCUT_LEGEND: readonly (readonly [keys: string, meaning: string])[] = [
  ["Space or K", "Play or pause"],
  ["J / L", "10 seconds back or forward"],
  ["← / →", "5 seconds back or forward"],
  ["↑ / ↓", "Volume up or down"],
  ["M", "Sound off or on"],
  ["C", "Captions"],
  ["F", "Full screen"],
];

export function shortcutFor({ key, hasModifier, focus }: KeyPress): Shortcut | null {
  if (hasModifier || focus === "field") return null;
  const name = key.toLowerCase();
  if (name === " ") return focus === "button" ? null : { kind: "toggle" };
  if (ARROWS.has(name) && focus === "slider") return null;
  return ARROWS.get(name) ?? LETTERS.get(name) ?? null;
}

export function focusOf(target: EventTarget | null): Focus {
  if (!(target instanceof Element)) return "page";
  if (target.matches('input[type="range"]')) return "slider";
  if (target.matches("input, textarea, select, [contenteditable]")) return "field";
  return target.closest("button, a, summary") === null ? "page" : "button";
}
