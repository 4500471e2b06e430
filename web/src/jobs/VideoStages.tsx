import { useEffect } from "preact/hooks";
import { Link } from "../app/Link";
import { jobPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { Icon } from "../design/Icon";
import { Phrase } from "../design/Phrase";
import { StateChip } from "../library/StateChip";
import { retryJobs } from "./acts";
import type { PipelineVideo, Stage } from "./model";
import { canRetry, isCancelled } from "./rules";
import { createStages } from "./stages";
import { useFeed } from "./useFeed";
import styles from "./VideoStages.module.css";
import { stateOf, typeWords } from "./words";

interface VideoStagesProps {
  readonly artifactHash: string;
  /** The artifact's: when it changes, its jobs are read again. The job that cuts a clip is one of its source. */
  readonly status?: string | null;
}

/** Whether a video can be played and searched, and what is still being done for it. */
export function VideoStages({ artifactHash, status = null }: VideoStagesProps) {
  const stages = useFeed((request, ends) => createStages(request, artifactHash, ends), [artifactHash]);
  useEffect(() => {
    if (status !== null) stages.refresh();
  }, [status]);
  const video = stages.video.value;
  if (video === null) return null;
  return (
    <section class={styles.pipeline} aria-label="Processing">
      <ul class={styles.marks}>
        <Mark name="Playable" reached={video.isPlayable} />
        {!isClip(video) && <Mark name="Searchable" reached={video.isSearchable} />}
      </ul>
      {isUnfinished(video) && (
        <ol class={styles.stages}>
          {video.stages.map((stage) => (
            <StageItem key={stage.jobType} stage={stage} onAct={stages.refresh} />
          ))}
        </ol>
      )}
    </section>
  );
}

/** Its text is found in the video that it was cut from. */
function isClip({ stages }: PipelineVideo): boolean {
  return stages.some(({ jobType }) => jobType === "clip_generate");
}

function isUnfinished(video: PipelineVideo): boolean {
  const isDone = video.isPlayable && (video.isSearchable || isClip(video));
  return !isDone || video.stages.some(({ status }) => status === "processing" || status === "failed");
}

function Mark({ name, reached }: { readonly name: string; readonly reached: boolean }) {
  return (
    <li class={classes(styles.mark, reached && styles.reached)}>
      <Icon name={reached ? "check" : "close"} size={16} />
      {reached ? name : `Not ${name.toLowerCase()} yet`}
    </li>
  );
}

function StageItem({ stage, onAct }: { readonly stage: Stage; readonly onAct: () => void }) {
  return (
    <li class={styles.stage}>
      <span class={styles.name}>
        {stage.jobId === null ? (
          typeWords(stage.jobType)
        ) : (
          <Link to={jobPath(stage.jobId)}>{typeWords(stage.jobType)}</Link>
        )}
      </span>
      <StateChip state={stateOf(stage)} />
      {stage.errorMessage && (
        <p class={classes(styles.error, isCancelled(stage.errorType, stage.errorMessage) && styles.quiet)}>
          <Phrase text={stage.errorMessage} />
        </p>
      )}
      <RetryStage stage={stage} onAct={onAct} />
    </li>
  );
}

function RetryStage({ stage, onAct }: { readonly stage: Stage; readonly onAct: () => void }) {
  const { request, mayChange } = useWorkspace();
  const { jobId, jobType, status, errorType } = stage;
  const error = errorType === null ? null : { type: errorType, message: "" };
  if (!mayChange || jobId === null || !canRetry({ status: status ?? "", error })) return null;
  return (
    <Button
      icon="replay"
      aria-label={`Retry: ${typeWords(jobType)}`}
      onClick={() => void retryJobs(request, { ids: [jobId] }).then(onAct)}
    >
      Retry
    </Button>
  );
}
