/** Something that is on its way, is there, or did not come. */
import { problemOf, type Problem } from "./problem";

export type Loading =
  { readonly kind: "loading" } | { readonly kind: "idle" } | { readonly kind: "failed"; readonly problem: Problem };

/** Does the work and tells how it is with it. */
export async function attempt(state: { value: Loading }, work: () => Promise<void>): Promise<void> {
  state.value = { kind: "loading" };
  try {
    await work();
    state.value = { kind: "idle" };
  } catch (error) {
    state.value = { kind: "failed", problem: problemOf(error) };
  }
}
