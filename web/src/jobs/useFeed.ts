/** Something that reads jobs and listens to what happens to them, for as long as a component shows it. */
import type { Request } from "../api/client";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import type { JobListener } from "../live/feed";

interface Source extends JobListener {
  readonly load: () => Promise<void>;
}

export function useFeed<Made extends Source>(
  make: (request: Request, ends: AbortSignal) => Made,
  keys: readonly unknown[],
): Made {
  return useSource(useWorkspace().jobFeed, make, keys);
}
