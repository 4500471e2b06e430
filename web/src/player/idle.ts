/** Nobody has moved for a moment: then nothing needs to lie over the picture. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

const IDLE_AFTER_MS = 2_500;

export function useIdle(): { readonly idle: ReadonlySignal<boolean>; readonly stir: () => void } {
  const idle = useSignal(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stir = () => {
    idle.value = false;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => (idle.value = true), IDLE_AFTER_MS);
  };
  useEffect(() => {
    stir();
    return () => clearTimeout(timer.current);
  }, []);
  return { idle, stir };
}
