import { describe, expect, test } from "vitest";
import { endAfter, stateOf } from "../../src/share/links";

const NOW = Date.parse("2026-03-31T12:00:00Z");
const link = (more: object) => ({
  id: "1",
  createdBy: null,
  createdAt: "2026-03-30T12:00:00Z",
  expiresAt: "2026-04-01T12:00:00Z",
  revokedAt: null,
  ...more,
});

describe("a share link", () => {
  test.each([
    ["valid", {}],
    ["expired", { expiresAt: "2026-03-31T12:00:00Z" }],
    ["revoked", { revokedAt: "2026-03-31T11:00:00Z" }],
    ["revoked", { revokedAt: "2026-03-31T11:00:00Z", expiresAt: "2026-03-31T11:30:00Z" }],
  ])("is %s", (state, more) => {
    expect(stateOf(link(more), NOW)).toBe(state);
  });

  test("ends after so many days, and the longest a little earlier than the limit", () => {
    expect(endAfter(7, NOW)).toBe("2026-04-07T12:00:00.000Z");
    expect(endAfter(365, NOW)).toBe("2027-03-31T11:59:00.000Z");
  });
});
