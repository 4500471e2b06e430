/** Something that is read for as long as a component shows it, and made anew when `keys` change. */
import { useEffect, useMemo } from "preact/hooks";
import type { Request } from "../api/client";
import { useWorkspace } from "../app/workspace";
import { waitOrWake } from "../kernel/waking";
import { createReading, type Reading, type ReadingParts } from "./reading";

export function useReading<Answer>(
  ask: (request: Request) => Promise<Answer>,
  keys: readonly unknown[],
): Reading<Answer> {
  return useLived((request, parts) => createReading(() => ask(request), parts), keys);
}

export function useLived<Made>(make: (request: Request, parts: ReadingParts) => Made, keys: readonly unknown[]): Made {
  const { request } = useWorkspace();
  const { made, life } = useMemo(() => {
    const life = new AbortController();
    return { made: make(request, { wait: waitOrWake, isWatched, ends: life.signal }), life };
  }, keys);
  useEffect(() => () => life.abort(), [life]);
  return made;
}

function isWatched(): boolean {
  return document.visibilityState === "visible";
}
