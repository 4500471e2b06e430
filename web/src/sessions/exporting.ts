/** Where the rows of a question are as a file. Pure. */
import { filterOf } from "./address";
import type { Question } from "./model";

export function exportPath(question: Question, format: "csv" | "parquet", now: number): string {
  const given = new URLSearchParams({ format });
  for (const [name, value] of Object.entries(filterOf(question, now))) {
    if (value !== null && value !== undefined) given.set(name, String(value));
  }
  return `/sessions/export?${given.toString()}`;
}
