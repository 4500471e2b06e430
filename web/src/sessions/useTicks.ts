/** How many words fit below a chart. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const NARROW = "(max-width: 44rem)";

export function useTicks(wide: number, narrow: number): number {
  const query = matchMedia(NARROW);
  const isNarrow = useSignal(query.matches);
  useEffect(() => {
    const onChange = () => (isNarrow.value = query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return isNarrow.value ? narrow : wide;
}
