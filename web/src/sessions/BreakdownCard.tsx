import { useEffect } from "preact/hooks";
import { SessionBreakdownDocument } from "../api/generated";
import { Link } from "../app/Link";
import { Choice } from "../design/Choice";
import { filterOf, sessionsPath } from "./address";
import styles from "./BreakdownCard.module.css";
import { ChartBlank, ChartCard } from "./ChartCard";
import { groupingFor, shownGrouping, wasGroupingChosen } from "./choices";
import { DIMENSION_ENUM, groupParts, groupPath } from "./groups";
import { type Group, type Grouping, GROUPINGS, type Question } from "./model";
import { Stack } from "./Stack";
import { useReading } from "./useReading";
import { formatCount, formatMs, formatShare, GROUPING_NAMES, keyWords } from "./words";

const MOST = 20;
const HOURS = 24;

/** Sessions by one thing they have in common. A row leads to its sessions, where a filter chooses them. */
export function BreakdownCard({ question }: { readonly question: Question }) {
  const grouping = shownGrouping.value;
  const reading = useReading(
    (request) =>
      request(SessionBreakdownDocument, {
        filter: filterOf(question, Date.now()),
        by: DIMENSION_ENUM[grouping],
        first: grouping === "hour" ? HOURS : MOST,
      }),
    [sessionsPath(question), grouping],
  );
  const groups = reading.answer.value?.sessionBreakdown ?? null;
  useEffect(() => {
    if (groups !== null) shownGrouping.value = groupingFor(grouping, groups, wasGroupingChosen.peek());
  }, [groups, grouping]);
  return (
    <ChartCard
      title="Breakdown"
      tools={
        <Choice
          label="By"
          options={GROUPINGS}
          chosen={grouping}
          name={(one) => GROUPING_NAMES[one]}
          onChoose={(one) => {
            wasGroupingChosen.value = true;
            shownGrouping.value = one;
          }}
        />
      }
    >
      {groups === null ? (
        <ChartBlank problem={reading.problem.value} />
      ) : groups.length === 0 ? (
        <ChartBlank>No sessions here.</ChartBlank>
      ) : (
        <Table groups={groups} grouping={grouping} question={question} />
      )}
    </ChartCard>
  );
}

interface TableProps {
  readonly groups: readonly Group[];
  readonly grouping: Grouping;
  readonly question: Question;
}

function Table({ groups, grouping, question }: TableProps) {
  const most = Math.max(1, ...groups.map(({ sessions }) => sessions));
  return (
    <table class={styles.table}>
      <thead>
        <tr>
          <th scope="col">{GROUPING_NAMES[grouping]}</th>
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
            Median
          </th>
          <th scope="col" class={styles.figure}>
            95% within
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group.key ?? ""} class={styles.row}>
            <th scope="row" title={group.key ?? ""}>
              <Name path={groupPath(question, grouping, group)}>{keyWords(grouping, group.key)}</Name>
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

function Name({ path, children }: { readonly path: string | null; readonly children: string }) {
  return path === null ? (
    <>{children}</>
  ) : (
    <Link to={path} class={styles.name}>
      {children}
    </Link>
  );
}
