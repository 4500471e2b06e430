import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { classes } from "../design/classes";
import { look } from "../design/Row";
import { GoalRow } from "./GoalRow";
import styles from "./MatchCard.module.css";
import type { Match, Playing } from "./model";
import { goalKey, isLive } from "./rules";
import { matchFacts, statusWords } from "./words";

interface MatchCardProps {
  readonly match: Match;
  readonly playing: Signal<Playing | null>;
}

export function MatchCard({ match, playing }: MatchCardProps) {
  const id = useId();
  return (
    <article class={classes(look.list, styles.match)} aria-labelledby={id}>
      <header class={styles.head}>
        <p class={classes(styles.status, isLive(match) && styles.live)}>{statusWords(match)}</p>
        <h3 id={id} class={styles.teams}>
          <span class={styles.home}>{match.home.name}</span>
          <Score match={match} />
          <span>{match.away.name}</span>
        </h3>
        <p class={styles.league}>{match.leagueName}</p>
      </header>
      <Notes match={match} />
      {match.goals.length > 0 && (
        <ol class={styles.goals}>
          {match.goals.map((goal) => (
            <GoalRow key={goalKey(goal)} goal={goal} playing={playing} />
          ))}
        </ol>
      )}
    </article>
  );
}

function Score({ match: { home, away } }: { readonly match: Match }) {
  if (home.goals === null || away.goals === null) return <span class={styles.score}>–</span>;
  return (
    <span class={styles.score}>
      {home.goals}
      <span aria-label="to">–</span>
      {away.goals}
    </span>
  );
}

function Notes({ match }: { readonly match: Match }) {
  const facts = matchFacts(match);
  if (facts.length === 0 && match.failure === null) return null;
  return (
    <div class={styles.notes}>
      <p class={look.facts}>
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
      {match.failure !== null && <p class={look.failure}>{`The feed could not be read: ${match.failure}`}</p>}
    </div>
  );
}
