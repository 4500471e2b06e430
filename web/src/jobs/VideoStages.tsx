import { classes } from "../design/classes";
import { Icon } from "../design/Icon";
import { Phrase } from "../design/Phrase";
import { StateChip } from "../library/StateChip";
import type { PipelineVideo, Stage } from "./model";
import { createStages } from "./stages";
import { useFeed } from "./useFeed";
import styles from "./VideoStages.module.css";
import { stateOf, typeWords } from "./words";

/** Whether a video can be played and searched, and what is still being done for it. */
export function VideoStages({ artifactHash }: { readonly artifactHash: string }) {
  const stages = useFeed((request, ends) => createStages(request, artifactHash, ends), [artifactHash]);
  const video = stages.video.value;
  if (video === null) return null;
  return (
    <section class={styles.pipeline} aria-label="Processing">
      <ul class={styles.marks}>
        <Mark name="Playable" reached={video.isPlayable} />
        <Mark name="Searchable" reached={video.isSearchable} />
      </ul>
      {isUnfinished(video) && (
        <ol class={styles.stages}>
          {video.stages.map((stage) => (
            <StageItem key={stage.jobType} stage={stage} />
          ))}
        </ol>
      )}
    </section>
  );
}

function isUnfinished(video: PipelineVideo): boolean {
  return !video.isPlayable || !video.isSearchable || video.stages.some(({ status }) => status === "processing");
}

function Mark({ name, reached }: { readonly name: string; readonly reached: boolean }) {
  return (
    <li class={classes(styles.mark, reached && styles.reached)}>
      <Icon name={reached ? "check" : "close"} size={16} />
      {reached ? name : `Not ${name.toLowerCase()} yet`}
    </li>
  );
}

function StageItem({ stage }: { readonly stage: Stage }) {
  return (
    <li class={styles.stage}>
      <span class={styles.name}>{typeWords(stage.jobType)}</span>
      <StateChip state={stateOf(stage)} />
      {stage.errorMessage && (
        <p class={styles.error}>
          <Phrase text={stage.errorMessage} />
        </p>
      )}
    </li>
  );
}
