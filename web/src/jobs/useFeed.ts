/** Something that reads and listens, for as long as a component shows it. */
import { useEffect, useMemo } from "preact/hooks";
import type { Request } from "../api/client";
import { useWorkspace } from "../app/workspace";
import type { JobListener } from "../live/jobs";

interface Source extends JobListener {
  readonly load: () => Promise<void>;
}

/** Made anew when `keys` change. It listens first and reads then, so that nothing falls between the two. */
export function useFeed<Made extends Source>(
  make: (request: Request, ends: AbortSignal) => Made,
  keys: readonly unknown[],
): Made {
  const { request, jobFeed } = useWorkspace();
  const { source, life } = useMemo(() => {
    const life = new AbortController();
    return { source: make(request, life.signal), life };
  }, keys);
  useEffect(() => {
    const stop = jobFeed.listen(source);
    void source.load();
    return () => {
      stop();
      life.abort();
    };
  }, [source]);
  return source;
}
