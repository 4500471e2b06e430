/** The priorities that somebody may choose. Above 0 a job goes before those of all tenants: operators only. Pure. */
import type { Role } from "../session/model";

export interface Choice {
  readonly priority: number;
  readonly name: string;
}

const CHOICES: readonly Choice[] = [
  { priority: 100, name: "Highest" },
  { priority: 10, name: "High" },
  { priority: 0, name: "Normal" },
  { priority: -10, name: "Low" },
  { priority: -100, name: "Lowest" },
];

/** With the one that the job has now, whatever it is. */
export function choicesFor(role: Role, current: number): readonly Choice[] {
  const allowed = CHOICES.filter(({ priority }) => priority <= 0 || role === "operator" || priority === current);
  if (allowed.some(({ priority }) => priority === current)) return allowed;
  return [...allowed, { priority: current, name: String(current) }].sort((a, b) => b.priority - a.priority);
}
