import { describe, expect, test } from "vitest";
import {
  addPage,
  addVideo,
  applyEvent,
  dropPoster,
  EMPTY,
  refreshPage,
  removeVideo,
  shownVideos,
  type Catalogue,
} from "../../src/library/catalogue";
import { happening, page, row } from "../support/videos";

function letters(catalogue: Catalogue): string {
  return shownVideos(catalogue)
    .map(({ artifactHash }) => artifactHash)
    .join("");
}

const two = addPage(EMPTY, page("cde", true, 5), null);

describe("pages", () => {
  test("are shown one below the other", () => {
    const all = addPage(two, page("fg", false, 5), "e");
    expect(letters(all)).toBe("cdefg");
    expect(all).toMatchObject({ complete: true, totalCount: 5 });
    expect(two).toMatchObject({ complete: false, endCursor: "e" });
  });

  test("the first one again keeps those below it", () => {
    const deeper = addPage(two, page("fg", true, 9), "e");
    const again = addPage(deeper, page("bcd", true, 10), null);
    expect(letters(again)).toBe("bcdefg");
    expect(again).toMatchObject({ endCursor: "g", totalCount: 10 });
  });

  test("where a hole would be, the list begins anew", () => {
    const again = addPage(addPage(EMPTY, page("wx", true, 9), null), page("abc", true, 9), null);
    expect(letters(again)).toBe("abc");
    expect(again.endCursor).toBe("c");
    expect(letters(addPage(again, page("dwx", false, 9), "c"))).toBe("abcdwx");
  });

  test("a page that was asked for before that comes too late to be the next one", () => {
    const again = addPage(addPage(EMPTY, page("wx", true, 9), null), page("abc", true, 9), null);
    const late = addPage(again, page("yz", false, 9), "x");
    expect(letters(late)).toBe("abc");
    expect(late).toMatchObject({ endCursor: "c", complete: false });
  });

  test("what the first one no longer lists was deleted meanwhile", () => {
    const again = addPage(addPage(two, page("fg", true, 7), "e"), page("cef", true, 6), null);
    expect(letters(again)).toBe("cefg");
  });

  test("what is newer than the answer stays", () => {
    const withNew = addVideo(two, row("a"));
    expect(letters(addPage(withNew, page("cde", true, 5), null))).toBe("acde");
  });

  test("an empty list empties the page", () => {
    expect(letters(addPage(addPage(EMPTY, page("ab", false), null), page("", false), null))).toBe("");
  });

  test("a refreshed page changes rows, not the place in the list", () => {
    const deeper = addPage(two, page("fg", true, 9), "e");
    expect(refreshPage(deeper, page("cde", true, 9))).toMatchObject({ endCursor: "g", complete: false });
  });
});

describe("single videos", () => {
  test("a new one comes first and counts", () => {
    const next = addVideo(two, row("a"));
    expect(letters(next)).toBe("acde");
    expect(next.totalCount).toBe(6);
    expect(addVideo(next, row("a")).totalCount).toBe(6);
  });

  test("one that is further down waits for its page", () => {
    const next = addVideo(two, row("z"));
    expect(letters(next)).toBe("cde");
    expect(next.totalCount).toBe(5);
    expect(letters(addPage(next, page("fz", false, 5), "e"))).toBe("cdefz");
  });

  test("a deleted one goes, and no late answer brings it back", () => {
    const gone = removeVideo(two, "d");
    expect(letters(gone)).toBe("ce");
    expect(gone.totalCount).toBe(4);
    expect(letters(addPage(gone, page("cde", true, 5), null))).toBe("ce");
    expect(letters(addVideo(gone, row("d")))).toBe("ce");
  });

  test("an event deletes like a click, once", () => {
    const event = happening({ artifactHash: "d", stage: "deleted" });
    const gone = applyEvent(applyEvent(two, event), event);
    expect(letters(gone)).toBe("ce");
    expect(gone.totalCount).toBe(4);
  });

  test("an event about a stranger changes nothing", () => {
    expect(applyEvent(two, happening({ artifactHash: "?" }))).toBe(two);
  });

  test("a poster that failed makes room for another address", () => {
    const broken = dropPoster(addVideo(two, row("a", { posterUrl: "/old" })), "a");
    expect(addVideo(broken, row("a", { posterUrl: "/new" })).videos.get("a")?.posterUrl).toBe("/new");
  });
});
