/** Why a video does not play, in words. */
import type { Problem } from "../kernel/problem";
import type { SourceFailure } from "./source";

const GONE: Problem = {
  code: "not_found",
  message: "The file of this video is gone",
  hint: "The store no longer has it. Tell whoever runs this server: it may be in a backup.",
};

export const PROBLEMS: Record<SourceFailure, Problem> = {
  expired: {
    code: "forbidden",
    message: "The video does not answer any more",
    hint: "Try again, or reload the page.",
  },
  missing: GONE, // also at a new address
  gone: GONE,
  unreadable: {
    code: "unavailable",
    message: "The file of this video cannot be read",
    hint: "Its store fails to answer. Try again later, or tell whoever runs this server.",
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
