import { SessionBreakdownDocument } from "../api/generated";
import { Link } from "../app/Link";
import { Choice } from "../design/Choice";
import { filterOf, sessionsPath } from "./address";
import styles from "./BreakdownCard.module.css";
import { ChartBlank, ChartCard } from "./ChartCard";
import { shownDimension } from "./choices";
import { DIMENSION_ENUM, groupParts, groupPath } from "./groups";
import { DIMENSIONS, type Dimension, type Group, type Question } from "./model";
import { Stack } from "./Stack";
import { useReading } from "./useReading";
import { DIMENSION_NAMES, formatCount, formatMs, formatShare, keyWords } from "./words";

const MOST = 20;

/** Sessions by one thing they have in common. A row leads to its sessions. */
export function BreakdownCard({ question }: { readonly question: Question }) {
  const dimension = shownDimension.value;
  const reading = useReading(
    (request) =>
      request(SessionBreakdownDocument, {
        filter: filterOf(question, Date.now()),
        by: DIMENSION_ENUM[dimension],
        first: MOST,
      }),
    [sessionsPath(question), dimension],
  );
  const groups = reading.answer.value?.sessionBreakdown ?? null;
  return (
    <ChartCard
      title="Breakdown"
      tools={
        <Choice
          label="By"
          options={DIMENSIONS}
          chosen={dimension}
          name={(one) => DIMENSION_NAMES[one]}
          onChoose={(one) => (shownDimension.value = one)}
        />
      }
    >
      {groups === null ? (
        <ChartBlank problem={reading.problem.value} />
      ) : groups.length === 0 ? (
        <ChartBlank>No sessions here.</ChartBlank>
      ) : (
        <Table groups={groups} dimension={dimension} question={question} />
      )}
    </ChartCard>
  );
}

interface TableProps {
  readonly groups: readonly Group[];
  readonly dimension: Dimension;
  readonly question: Question;
}

function Table({ groups, dimension, question }: TableProps) {
  const most = Math.max(1, ...groups.map(({ sessions }) => sessions));
  return (
    <table class={styles.table}>
      <thead>
        <tr>
          <th scope="col">{DIMENSION_NAMES[dimension]}</th>
          <th scope="col" class={styles.figure}>
            Sessions
          </th>
          <th scope="col" class={styles.bar}>
            <span class={styles.said}>Outcome</span>
          </th>
          <th scope="col" class={styles.figure}>
            Success
          </th>
          <th scope="col" class={styles.figure}>
            Unexcused
          </th>
          <th scope="col" class={styles.figure}>
            Swapped
          </th>
          <th scope="col" class={styles.figure}>
            Errors
          </th>
          <th scope="col" class={styles.figure}>
            p50
          </th>
          <th scope="col" class={styles.figure}>
            p95
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group.key ?? ""} class={styles.row}>
            <th scope="row" title={group.key ?? ""}>
              <Link to={groupPath(question, dimension, group)} class={styles.name}>
                {keyWords(dimension, group.key)}
              </Link>
            </th>
            <td class={styles.figure}>{formatCount(group.sessions)}</td>
            <td class={styles.bar}>
              <Stack across share={group.sessions / most} parts={groupParts(group)} />
            </td>
            <td class={styles.figure}>{formatShare(group.success, group.known)}</td>
            <td class={styles.figure}>{formatShare(group.unexcused, group.known)}</td>
            <td class={styles.figure}>{formatShare(group.swapped, group.sessions)}</td>
            <td class={styles.figure}>{formatCount(group.errors)}</td>
            <td class={styles.figure}>{formatMs(group.startup.p50)}</td>
            <td class={styles.figure}>{formatMs(group.startup.p95)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
