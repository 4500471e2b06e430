/** A sign-in link carries its secret in the fragment, which no server and no log ever sees. */

export function linkToken(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("token");
}

/** Out of sight and out of the history before anything else is done with it. */
export function takeLinkToken(): string | null {
  const token = linkToken(location.hash);
  if (token !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}
