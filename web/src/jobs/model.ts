/** Jobs as the page knows them. */
import type { JobDepthQuery, JobFieldsFragment, JobOverviewQuery, JobQuery, VideoStagesQuery } from "../api/generated";
import type { JobEvent } from "../live/socket";

/** How long it still takes, and when that was said (by this browser's clock). */
export interface Estimate {
  readonly leftMs: number;
  readonly at: number;
}

export type Job = JobFieldsFragment & { readonly estimate: Estimate | null };
export type JobDetail = NonNullable<JobQuery["job"]>;
export type JobChange = NonNullable<JobEvent["job"]>;
export type JobFailure = JobOverviewQuery["jobFailures"][number];
export type JobAlert = JobOverviewQuery["jobAlerts"][number];
export type JobDepth = JobDepthQuery["jobDepth"];
export type PipelineVideo = NonNullable<VideoStagesQuery["video"]>;
export type Stage = PipelineVideo["stages"][number];
