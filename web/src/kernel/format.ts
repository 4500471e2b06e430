/** Figures as people read them. Pure; the present time comes in. */

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const shortDate = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const fullDate = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short" });

/** 1000s, as disks and file managers count: `1.4 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // What would be rounded to 1000 belongs to the next unit.
  while (value >= (unit === 0 ? 1000 : 999.5) && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit > 0 && value < 9.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${BYTE_UNITS[unit] ?? ""}`;
}

/** `0:07`, `12:34`, `1:02:03`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** The same as words, for those who listen: `1 hour 2 minutes 3 seconds`. */
export function speakDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), "hour"],
    [Math.floor(seconds / 60) % 60, "minute"],
    [seconds % 60, "second"],
  ];
  const said = parts.filter(([count]) => count > 0).map(([count, unit]) => plural(count, unit));
  return said.length > 0 ? said.join(" ") : "0 seconds";
}

/** `just now`, `5 minutes ago`, `yesterday`; the date once it is more than a week. */
export function formatAge(then: string, now: number): string {
  const age = now - Date.parse(then);
  if (age < MINUTE) return "just now"; // also when this clock is behind the server's
  if (age < HOUR) return relative.format(-Math.floor(age / MINUTE), "minute");
  if (age < DAY) return relative.format(-Math.floor(age / HOUR), "hour");
  if (age < 7 * DAY) return relative.format(-Math.floor(age / DAY), "day");
  return shortDate.format(new Date(then));
}

export function formatDate(then: string): string {
  return fullDate.format(new Date(then));
}

/** `in 12 days`, for the end of something. */
export function formatUntil(then: string, now: number): string {
  const left = Date.parse(then) - now;
  if (left < HOUR) return "within the hour";
  if (left < DAY) return relative.format(Math.floor(left / HOUR), "hour");
  return relative.format(Math.floor(left / DAY), "day");
}

/** `40 s left`, `3 min left`, `2 h left`: rough, so that it does not flicker. */
export function formatTimeLeft(milliseconds: number): string {
  if (milliseconds < 5 * SECOND) return "a few seconds left";
  if (milliseconds < MINUTE) return `${Math.ceil(milliseconds / (5 * SECOND)) * 5} s left`;
  if (milliseconds < HOUR) return `${Math.ceil(milliseconds / MINUTE)} min left`;
  return `${Math.ceil(milliseconds / HOUR)} h left`;
}

/** `45 s`, `12 min`, `3:20 h`. */
export function formatSpan(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${formatDuration(Math.round(seconds / 60) * 1000)} h`;
}

export function plural(count: number, unit: string): string {
  return `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;
}

/** A whole percentage that says 100 only when all is there. */
export function percentOf(part: number, whole: number): number {
  if (whole <= 0) return 0;
  return Math.max(0, Math.min(100, Math.floor((part / whole) * 100)));
}
