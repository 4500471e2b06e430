/** Light, dark, or as the system has it. Kept in this browser; other tabs follow. */
import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const PLACE = "touchline.theme";

export function themeOf(stored: string | null): Theme {
  return THEMES.find((theme) => theme === stored) ?? "system";
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
}

export const theme = signal<Theme>(read());

export function startTheme(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
    write(theme.value);
  });
  addEventListener("storage", ({ key }) => {
    if (key === PLACE) theme.value = read();
  });
}

function read(): Theme {
  try {
    return themeOf(localStorage.getItem(PLACE));
  } catch {
    return "system"; // storage may be switched off
  }
}

function write(value: Theme): void {
  try {
    if (value === "system") localStorage.removeItem(PLACE);
    else localStorage.setItem(PLACE, value);
  } catch {
    // As above: then the choice holds until the page is closed.
  }
}
