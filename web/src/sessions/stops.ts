/** Many things that are one stop of the Tab key: arrow keys go from one to the next. */
import type { TargetedFocusEvent, TargetedKeyboardEvent } from "preact";

const STOP = "a[tabindex], button[tabindex]";

export const stops = {
  onKeyDown(event: TargetedKeyboardEvent<HTMLElement>): void {
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>(STOP)];
    const next = nextStop(event.key, all.indexOf(document.activeElement as HTMLElement), all.length);
    if (next === null) return;
    event.preventDefault();
    all[next]?.focus();
  },
  /** The Tab key comes back to where one was. */
  onFocusIn(event: TargetedFocusEvent<HTMLElement>): void {
    const target = event.target as HTMLElement;
    if (!target.matches(STOP)) return;
    for (const stop of event.currentTarget.querySelectorAll<HTMLElement>(STOP))
      stop.tabIndex = stop === target ? 0 : -1;
  },
};

export function nextStop(key: string, current: number, count: number): number | null {
  if (current < 0 || count === 0) return null;
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(count - 1, current + 1);
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(0, current - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
