/** Why a video does not play, in words. */
import type { Problem } from "../kernel/problem";
import type { SourceFailure } from "./source";

export const PROBLEMS: Record<SourceFailure, Problem> = {
  expired: {
    code: "not_found",
    message: "The video does not answer any more",
    hint: "It may have been deleted. Try again, or reload the page.",
  },
  network: {
    code: "unreachable",
    message: "The video could not be loaded",
    hint: "Check your connection, then try again.",
  },
  media: {
    code: "media",
    message: "This browser could not decode the video",
    hint: "Try again; if it fails at the same place, try another browser.",
  },
  unsupported: {
    code: "unsupported",
    message: "This browser cannot play streams",
    hint: "Use a current version of Chrome, Edge, Firefox or Safari.",
  },
};
