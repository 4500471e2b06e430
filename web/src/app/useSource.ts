/** Something that reads and listens, for as long as a component shows it. */
import { useEffect, useMemo } from "preact/hooks";
import type { Request } from "../api/client";
import type { Feed, Listener } from "../live/feed";
import { useWorkspace } from "./workspace";

interface Source<Event> extends Listener<Event> {
  readonly load: () => Promise<void>;
}

/** Made anew when `keys` change. It listens first and reads then, so that nothing falls between the two. */
export function useSource<Event, Made extends Source<Event>>(
  feed: Feed<Event>,
  make: (request: Request, ends: AbortSignal) => Made,
  keys: readonly unknown[],
): Made {
  const { request } = useWorkspace();
  const { source, life } = useMemo(() => {
    const life = new AbortController();
    return { source: make(request, life.signal), life };
  }, keys);
  useEffect(() => {
    const stop = feed.listen(source);
    void source.load();
    return () => {
      stop();
      life.abort();
    };
  }, [source]);
  return source;
}
