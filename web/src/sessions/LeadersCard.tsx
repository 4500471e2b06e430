import { useEffect } from "preact/hooks";
import { SessionLeadersDocument } from "../api/generated";
import { Link } from "../app/Link";
import { Choice } from "../design/Choice";
import { filterOf, sessionsPath } from "./address";
import { ChartBlank, ChartCard } from "./ChartCard";
import { leadersFor, shownLeaders, wereLeadersChosen } from "./choices";
import { DIMENSION_ENUM, leaderPath, LEADERS, leadersOf, leadOf, leadWords, type Leaders } from "./groups";
import styles from "./LeadersCard.module.css";
import type { Tint } from "./Legend";
import { DIMENSIONS, type Dimension, type Group, type Question } from "./model";
import { Stack } from "./Stack";
import { useReading } from "./useReading";
import { DIMENSION_NAMES, keyWords } from "./words";

const MOST = 8;
const TITLES: Record<Leaders, string> = { swaps: "Most swaps", failures: "Most failures", slowest: "Slowest starts" };
const NONE: Record<Leaders, string> = { swaps: "No swaps.", failures: "No failures.", slowest: "No starts." };
const TINTS: Record<Leaders, Tint> = { swaps: "third", failures: "unexcused", slowest: "second" };

/** Who swaps, fails and waits most. A row leads to those sessions. */
export function LeadersCard({ question }: { readonly question: Question }) {
  const dimension = shownLeaders.value;
  const reading = useReading(
    (request) =>
      request(SessionLeadersDocument, {
        filter: filterOf(question, Date.now()),
        by: DIMENSION_ENUM[dimension],
        first: MOST,
      }),
    [sessionsPath(question), dimension],
  );
  const answer = reading.answer.value;
  useEffect(() => {
    if (answer === null) return;
    const groups = LEADERS.flatMap((kind) => answer[kind]);
    shownLeaders.value = leadersFor(dimension, groups, wereLeadersChosen.peek());
  }, [answer, dimension]);
  return (
    <ChartCard
      title="Leaders"
      tools={
        <Choice
          label="By"
          options={DIMENSIONS}
          chosen={dimension}
          name={(one) => DIMENSION_NAMES[one]}
          onChoose={(one) => {
            wereLeadersChosen.value = true;
            shownLeaders.value = one;
          }}
        />
      }
    >
      {answer === null ? (
        <ChartBlank problem={reading.problem.value} />
      ) : (
        <div class={styles.boards}>
          {LEADERS.map((kind) => (
            <Board key={kind} kind={kind} groups={answer[kind]} dimension={dimension} question={question} />
          ))}
        </div>
      )}
    </ChartCard>
  );
}

interface BoardProps {
  readonly kind: Leaders;
  readonly groups: readonly Group[];
  readonly dimension: Dimension;
  readonly question: Question;
}

function Board({ kind, groups, dimension, question }: BoardProps) {
  const shown = leadersOf(kind, groups);
  const most = Math.max(1, ...shown.map((group) => leadOf(kind, group)));
  return (
    <section class={styles.board} aria-label={TITLES[kind]}>
      <h3 class={styles.title}>{TITLES[kind]}</h3>
      {shown.length === 0 && <p class={styles.none}>{NONE[kind]}</p>}
      <ol class={styles.leaders}>
        {shown.map((group) => {
          const { figure, note } = leadWords(kind, group);
          return (
            <li key={group.key ?? ""} class={styles.leader}>
              <Link to={leaderPath(question, dimension, kind, group)} class={styles.name} title={group.key ?? ""}>
                {keyWords(dimension, group.key)}
              </Link>
              <strong class={styles.figure}>{figure}</strong>
              <span class={styles.bar}>
                <Stack across share={leadOf(kind, group) / most} parts={[[TINTS[kind], 1]]} />
              </span>
              <span class={styles.note}>{note}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
