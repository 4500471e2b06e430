/** A video as the page knows it, and one page of them. */
import type { VideoFieldsFragment, VideosQuery } from "../api/generated";

export type Video = VideoFieldsFragment;
export type VideoPage = VideosQuery["vodsConnection"];
