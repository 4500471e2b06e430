/** Pinning one artifact: what was asked for shows at once, as asked for, and as done only when it has been read. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { pin } from "./acts";
import type { Stored } from "./model";

export interface Pinning {
  /** What was asked for and is not shown yet; null: nothing. */
  readonly wanted: boolean | null;
  readonly toggle: () => void;
}

export function usePin(stored: Stored, onAct: () => void): Pinning {
  const { request } = useWorkspace();
  const [wanted, setWanted] = useState<boolean | null>(null);
  const isAsking = useRef(false);
  useEffect(() => {
    if (!isAsking.current) setWanted(null);
  }, [stored]);

  async function ask(pinned: boolean): Promise<void> {
    isAsking.current = true;
    setWanted(pinned);
    const done = await pin(request, stored, pinned);
    isAsking.current = false;
    if (done) onAct();
    else setWanted(null);
  }

  return {
    wanted,
    toggle() {
      if (wanted === null) void ask(!stored.pinned);
    },
  };
}
