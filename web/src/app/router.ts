/** The address bar as a signal. Going back restores the place on the page, going on starts at the top. */
import { computed, signal } from "@preact/signals";
import { routeOf, signInPath } from "./routes";

const address = signal(here());
const scrollPlaces = new Map<string, number>();
let entry = entryOf(history.state);

export const route = computed(() => routeOf(address.value));

export function navigate(path: string, options: { readonly replace?: boolean } = {}): void {
  scrollPlaces.set(entry, scrollY);
  if (options.replace) {
    history.replaceState({ entry }, "", path);
  } else {
    entry = String(Date.now() + Math.random());
    history.pushState({ entry }, "", path);
  }
  address.value = here();
  scrollTo(0, 0);
}

/** What was wanted is kept in the address until somebody is signed in. */
export function goToSignIn(): void {
  if (location.pathname !== "/sign-in") navigate(signInPath(here()), { replace: true });
}

export function startRouter(): void {
  history.scrollRestoration = "manual"; // the browser would restore before the rows are there
  addEventListener("popstate", ({ state }) => {
    scrollPlaces.set(entry, scrollY);
    entry = entryOf(state);
    address.value = here();
    const place = scrollPlaces.get(entry) ?? 0;
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, place)));
  });
}

function here(): string {
  return location.pathname + location.search;
}

function entryOf(state: unknown): string {
  const known = (state as { entry?: unknown } | null)?.entry;
  return typeof known === "string" ? known : "first";
}
