/** Matches and goals as the API sends them, with only what a test is about spelled out. */
import type { Goal, GoalVideo, Match } from "../../src/matches/model";
import type { MatchEvent } from "../../src/live/socket";

export function goal(given: Partial<Goal> = {}): Goal {
  return {
    eventId: "1_42_7_Goal_1",
    generation: 1,
    teamId: "42",
    teamName: "Arsenal",
    playerName: "B. Saka",
    isOwnGoal: false,
    isPenalty: false,
    minute: 23,
    extraMinute: null,
    homeScore: 1,
    awayScore: 0,
    state: "searching",
    words: "Searching, attempt 4 of 10",
    whySummary: "",
    isComplete: false,
    telemetry: { attempts: 4, found: 0, downloaded: 0, validated: 0, archived: 0, firstVideoSeconds: null },
    videos: [],
    ...given,
  };
}

export function goalVideo(given: Partial<GoalVideo> = {}): GoalVideo {
  return {
    artifactHash: "a",
    rank: 1,
    verified: true,
    clock: "22:41",
    popularity: 3,
    sourceUrl: "https://x.com/somebody/status/1",
    durationMs: 21_000,
    width: 1280,
    height: 720,
    vod: null,
    ...given,
  };
}

export function match(given: Partial<Match> = {}): Match {
  return {
    id: "1",
    stage: "active",
    status: "1H",
    elapsed: 30,
    kickOff: "2026-11-15T20:00:00+00:00",
    leagueName: "Premier League",
    home: { id: "42", name: "Arsenal", goals: 1 },
    away: { id: "40", name: "Liverpool", goals: 0 },
    failure: null,
    telemetry: { goals: 1, covered: 0, firstVideoP50Seconds: null, firstVideoP95Seconds: null, topFailure: null },
    goals: [goal()],
    ...given,
  };
}

export function happened(given: Partial<MatchEvent> = {}): MatchEvent {
  return { cursor: "1", matchId: "1", eventId: "1_42_7_Goal_1", generation: 1, what: "searching", ...given };
}
