/** Matches as the page knows them. */
import type { GoalFieldsFragment, MatchDaysQuery, MatchFieldsFragment } from "../api/generated";

export type Match = MatchFieldsFragment;
export type Goal = GoalFieldsFragment;
export type GoalVideo = Goal["videos"][number];
export type MatchDay = MatchDaysQuery["matchDays"][number];
export type FootballFeed = MatchDaysQuery["footballFeed"];

/** What plays: one video at a time, in its goal. */
export interface Playing {
  readonly goal: string;
  readonly artifactHash: string;
}
