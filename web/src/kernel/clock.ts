/** The present time as a signal, for ages that grow while somebody looks at them. */
import { signal, type ReadonlySignal } from "@preact/signals";

const TICK_MS = 20_000;
const ticking = signal(Date.now());
setInterval(() => (ticking.value = Date.now()), TICK_MS);

export const now: ReadonlySignal<number> = ticking;
