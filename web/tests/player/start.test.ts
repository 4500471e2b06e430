import { expect, test } from "vitest";
import { leadOf, mediaSeconds, startSeconds } from "../../src/player/start";

test.each([
  [0, 5000, 0],
  [1234, 5000, 1.234],
  [4999, 5000, 4.999],
  [5000, 5000, 0],
  [90_000, 5000, 0],
  [1234, null, 1.234],
])("%i ms of %j", (startMs, durationMs, seconds) => expect(startSeconds(startMs, durationMs)).toBe(seconds));

test.each([
  ["#EXTM3U\n#EXT-X-START:TIME-OFFSET=0.080000,PRECISE=YES\nhigh/index.m3u8\n", 0.08],
  ["#EXTM3U\r\n#EXT-X-START:PRECISE=YES,TIME-OFFSET=2\r\n", 2],
  ["#EXTM3U\n#EXT-X-START:TIME-OFFSET=-4\n", 0],
  ["#EXTM3U\n#EXT-X-START:TIME-OFFSET=1.2.3\n", 0],
  ["#EXTM3U\n", 0],
  ["", 0],
])("the lead of %j", (playlist, seconds) => expect(leadOf(playlist)).toBe(seconds));

test.each([
  [3.08, 0.08, 3],
  [0, 0.4, 0],
  [1.2345678, 0, 1.235],
])("%d s of a stream that begins %d s earlier", (stream, lead, seconds) =>
  expect(mediaSeconds(stream, lead)).toBe(seconds),
);
