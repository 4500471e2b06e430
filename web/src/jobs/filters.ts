/** What of the jobs somebody looks at, as it stands in the address. Pure. */

export const STATUSES = ["processing", "queued", "failed", "done"] as const;
export type Status = (typeof STATUSES)[number];

export interface Filters {
  /** Null: the overview. */
  readonly status: Status | null;
  readonly jobType: string | null;
  /** The kind of error, among those that failed. */
  readonly cause: string | null;
}

const WORD = /^\w{1,100}$/;

export function filtersOf(search: string): Filters {
  const given = new URLSearchParams(search);
  const status = STATUSES.find((one) => one === given.get("status")) ?? null;
  return {
    status,
    jobType: word(given.get("type")),
    cause: status === "failed" ? word(given.get("cause")) : null,
  };
}

export function jobsPath({ status, jobType, cause }: Partial<Filters>): string {
  const query = new URLSearchParams();
  if (status) query.set("status", status);
  if (jobType) query.set("type", jobType);
  if (cause) query.set("cause", cause);
  const text = query.toString();
  return text === "" ? "/jobs" : `/jobs?${text}`;
}

function word(text: string | null): string | null {
  return text !== null && WORD.test(text) ? text : null;
}
