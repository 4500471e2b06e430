/** Why a video does not play, in words. */
import type { Problem } from "../kernel/problem";
import type { SourceFailure } from "./source";

const GONE: Problem = {
  code: "not_found",
  message: "The file of this video is missing",
  hint: "The object store no longer has it. Tell your administrator: it may be in a backup.",
};

const LEFT: Problem = {
  code: "not_found",
  message: "This stream cannot be played now",
  hint: "It has ended, or its node is away. Its recordings are listed below the picture.",
};

const PROBLEMS: Record<SourceFailure, Problem> = {
  expired: {
    code: "forbidden",
    message: "The video stopped loading",
    hint: "Try again, or reload the page.",
  },
  missing: GONE, // also at a new address
  gone: GONE,
  unreadable: {
    code: "unavailable",
    message: "The file of this video cannot be read",
    hint: "The object store cannot read it. Try again later, or tell your administrator.",
  },
  network: {
    code: "unreachable",
    message: "The video could not be loaded",
    hint: "Check your connection, then try again.",
  },
  media: {
    code: "media",
    message: "This browser could not decode the video",
    hint: "Try again. If it fails at the same place, try another browser.",
  },
  unsupported: {
    code: "unsupported",
    message: "This browser cannot play streams",
    hint: "Use a current version of Chrome, Edge, Firefox or Safari.",
  },
};

/** No file of a live stream is lost: what is not there has ended, or is to come. */
const LIVE_PROBLEMS: Partial<Record<SourceFailure, Problem>> = { missing: LEFT, gone: LEFT, unreadable: LEFT };

export function problemWith(failure: SourceFailure, isLive: boolean): Problem {
  return (isLive ? LIVE_PROBLEMS[failure] : undefined) ?? PROBLEMS[failure];
}
