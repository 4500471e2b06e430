import type { Signal } from "@preact/signals";
import { look, Row } from "../design/Row";
import { StateChip } from "../library/StateChip";
import { GoalPlayer } from "./GoalPlayer";
import styles from "./GoalRow.module.css";
import type { Goal, Playing } from "./model";
import { goalKey, toneOf } from "./rules";
import { VideoStrip } from "./VideoStrip";
import { goalName, minuteWords, scorerWords, searchFacts } from "./words";

interface GoalRowProps {
  readonly goal: Goal;
  readonly playing: Signal<Playing | null>;
}

export function GoalRow({ goal, playing }: GoalRowProps) {
  const key = goalKey(goal);
  const chosen = playing.value?.goal === key ? playing.value.artifactHash : null;
  const video = goal.videos.find(({ artifactHash }) => artifactHash === chosen);
  const play = (artifactHash: string) => {
    playing.value = chosen === artifactHash ? null : { goal: key, artifactHash };
  };
  return (
    <Row class={styles.row} aria-label={goalName(goal)}>
      <p class={styles.minute}>{minuteWords(goal)}</p>
      <div class={look.words}>
        <p class={styles.scorer}>
          <strong>{scorerWords(goal)}</strong>
          {goal.isPenalty && <span class={styles.kind}>penalty</span>}
          {goal.isOwnGoal && <span class={styles.kind}>own goal</span>}
          <span class={styles.score}>{`${goal.homeScore}–${goal.awayScore}`}</span>
        </p>
        <Facts goal={goal} />
        {goal.whySummary !== "" && <p class={styles.why}>{goal.whySummary}</p>}
      </div>
      <div class={styles.state}>
        <StateChip state={{ label: goal.words, tone: toneOf(goal), progress: null }} />
      </div>
      {goal.videos.length > 0 && (
        <div class={styles.videos}>
          <VideoStrip goal={goal} chosen={chosen} onPlay={play} />
        </div>
      )}
      {video && (
        <div class={styles.player}>
          <GoalPlayer key={video.artifactHash} video={video} onClose={() => (playing.value = null)} />
        </div>
      )}
    </Row>
  );
}

function Facts({ goal }: { readonly goal: Goal }) {
  return (
    <p class={look.facts}>
      <span>{goal.teamName}</span>
      {searchFacts(goal).map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
    </p>
  );
}
