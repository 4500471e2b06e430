import { IconButton } from "../design/Button";
import type { IconName } from "../design/Icon";
import { nextTheme, theme, type Theme } from "./theme";

const ICONS: Record<Theme, IconName> = { system: "screen", light: "sun", dark: "moon" };
const NAMES: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

export function ThemeToggle() {
  const next = nextTheme(theme.value);
  return (
    <IconButton
      icon={ICONS[theme.value]}
      label={`Theme: ${NAMES[theme.value]}. Change to ${NAMES[next]}.`}
      onClick={() => (theme.value = next)}
    />
  );
}
