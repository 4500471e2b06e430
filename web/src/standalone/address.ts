/** What an address of the page that only plays stands for. Pure. */

export interface StandaloneSource {
  /** In a frame of another site, there is the picture and nothing else. */
  readonly kind: "share" | "embed";
  /** Where its addresses are asked for. */
  readonly path: string;
}

const ADDRESS = /^\/(share|embed)\/([A-Za-z0-9_-]+)\/?$/;

export function sourceOf(pathname: string): StandaloneSource | null {
  const [, kind, id] = ADDRESS.exec(pathname) ?? [];
  if (id === undefined || (kind !== "share" && kind !== "embed")) return null;
  return { kind, path: `/api/${kind}/${id}` };
}
