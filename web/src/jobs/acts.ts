/** Retry, cancel, reprioritise: sent, and said what came of it. A cause with many jobs takes several requests. */
import { tell, tellProblem } from "../app/messages";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import {
  CancelJobsDocument,
  ReprioritiseJobsDocument,
  RetryJobsDocument,
  type JobActsFieldsFragment,
  type JobCause,
  type JobSelection,
} from "../api/generated";
import { plural } from "../kernel/format";
import { problemOf, type Problem } from "../kernel/problem";

export type Acts = Extract<JobActsFieldsFragment, { readonly __typename: "JobActs" }>;
export type Wanted = { readonly ids: readonly string[] } | { readonly cause: JobCause };
type Send = (selection: JobSelection) => Promise<JobActsFieldsFragment>;

export interface Outcome {
  readonly changed: number;
  readonly refused: Acts["refused"];
}

export async function actOn(wanted: Wanted, send: Send): Promise<Outcome> {
  let changed = 0;
  const refused: Acts["refused"][number][] = [];
  let after: string | null = null;
  do {
    const acts: Acts = expectAnswer(await send({ ...wanted, after }), "JobActs");
    changed += acts.jobs.length;
    refused.push(...acts.refused);
    after = acts.next;
  } while (after !== null);
  return { changed, refused };
}

export const retryJobs = (request: Request, wanted: Wanted) =>
  said("are queued again", wanted, async (selection) => (await request(RetryJobsDocument, { selection })).acts);

export const cancelJobs = (request: Request, wanted: Wanted) =>
  said("cancelled", wanted, async (selection) => (await request(CancelJobsDocument, { selection })).acts);

export const reprioritiseJobs = (request: Request, wanted: Wanted, priority: number) =>
  said(
    "reprioritised",
    wanted,
    async (selection) => (await request(ReprioritiseJobsDocument, { selection, priority })).acts,
  );

async function said(what: string, wanted: Wanted, send: Send): Promise<void> {
  try {
    const { changed, refused } = await actOn(wanted, send);
    if (changed > 0) tell(`${plural(changed, "job")}: ${what}.`);
    const problem = refusal(refused);
    if (problem !== null) tellProblem(problem);
  } catch (error) {
    tellProblem(problemOf(error));
  }
}

/** The first stands for all: those of one cause are refused for one reason. */
export function refusal(refused: Acts["refused"]): Problem | null {
  const [first] = refused;
  if (first === undefined) return null;
  return refused.length === 1
    ? first
    : { ...first, message: `${refused.length} were refused. The first reason: ${first.message}` };
}
