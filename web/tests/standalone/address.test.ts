import { expect, test } from "vitest";
import { sourceOf } from "../../src/standalone/address";

test.each([
  ["/share/tlv_abc-D_1", { kind: "share", path: "/api/share/tlv_abc-D_1" }],
  ["/embed/0123456789abcdef", { kind: "embed", path: "/api/embed/0123456789abcdef" }],
  ["/embed/0123456789abcdef/", { kind: "embed", path: "/api/embed/0123456789abcdef" }],
  ["/watch/0123456789abcdef", null],
  ["/share/", null],
  ["/share/a/b", null],
  ["/share/..%2F..%2Fetc", null],
])("%s", (pathname, source) => {
  expect(sourceOf(pathname)).toEqual(source);
});
