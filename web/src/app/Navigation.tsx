import { useLayoutEffect } from "preact/hooks";
import { Icon, type IconName } from "../design/Icon";
import { focusOf } from "../player/shortcuts";
import { Link } from "./Link";
import styles from "./Navigation.module.css";
import { navigate, route } from "./router";
import { LIVE_PATH, MATCHES_PATH, SEARCH_PATH, SESSIONS_PATH, STORAGE_PATH, type Route } from "./routes";

interface Way {
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
  readonly pages: readonly Route["page"][];
}

const WAYS: readonly Way[] = [
  { to: "/", name: "Library", icon: "film", pages: ["library", "watch"] },
  { to: MATCHES_PATH, name: "Matches", icon: "ball", pages: ["matches"] },
  { to: LIVE_PATH, name: "Live", icon: "broadcast", pages: ["live", "stream"] },
  { to: SEARCH_PATH, name: "Search", icon: "search", pages: ["search"] },
  { to: "/jobs", name: "Jobs", icon: "list", pages: ["jobs", "job"] },
  { to: SESSIONS_PATH, name: "Sessions", icon: "chart", pages: ["sessions", "session"] },
  { to: STORAGE_PATH, name: "Storage", icon: "disk", pages: ["storage", "stored"] },
];

export function Navigation() {
  useSearchKey();
  const { page } = route.value;
  return (
    <nav class={styles.ways} aria-label="Main">
      {WAYS.map((way) => (
        <Link key={way.to} to={way.to} class={styles.way} current={way.pages.includes(page)}>
          <Icon name={way.icon} size={18} />
          <span>{way.name}</span>
        </Link>
      ))}
    </nav>
  );
}

/** A slash leads to the search from everywhere; on its page it is the page's own. */
function useSearchKey(): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const hasModifier = event.altKey || event.ctrlKey || event.metaKey;
      if (event.key !== "/" || hasModifier || focusOf(event.target) === "field") return;
      if (route.peek().page === "search" || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      navigate(SEARCH_PATH);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
