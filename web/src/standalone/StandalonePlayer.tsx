import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { classes } from "../design/classes";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { Wordmark } from "../design/Wordmark";
import { problemOf, type Problem } from "../kernel/problem";
import { Player } from "../player/Player";
import type { StandaloneSource } from "./address";
import { readPlayback, type PublicPlayback } from "./playback";
import styles from "./StandalonePlayer.module.css";

export function StandalonePlayer({ source }: { readonly source: StandaloneSource }) {
  const playback = useSignal<PublicPlayback | null>(null);
  const problem = useSignal<Problem | null>(null);
  const load = async () => {
    try {
      playback.value = await readPlayback(source.path);
      problem.value = null;
      document.title = playback.value.title;
    } catch (error) {
      problem.value = problemOf(error);
    }
  };
  useEffect(() => void load(), []);
  const content = problem.value ? (
    <Refusal problem={problem.value} onRetry={() => void load()} />
  ) : (
    playback.value && (
      <Player playback={playback.value} title={playback.value.title} startMs={0} onExpired={() => void load()} />
    )
  );
  if (source.kind === "embed") {
    return <main class={classes(styles.frame, playback.value && !problem.value && styles.filled)}>{content}</main>;
  }
  return (
    <main class={styles.page}>
      <Wordmark />
      <div class={styles.stage}>{content}</div>
      {!problem.value && <h1 class={styles.title}>{playback.value?.title}</h1>}
    </main>
  );
}

function Refusal({ problem, onRetry }: { readonly problem: Problem; readonly onRetry: () => void }) {
  if (problem.code !== "not_found") return <ProblemNotice problem={problem} onRetry={onRetry} />;
  return (
    <Notice icon="film" title="Nothing to play here">
      <Phrase text={problem.hint} />
    </Notice>
  );
}
