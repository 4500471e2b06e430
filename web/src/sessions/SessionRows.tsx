import { navigate } from "../app/router";
import { MoreRows } from "../design/MoreRows";
import { ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { SkeletonRows } from "../design/SkeletonRows";
import { sessionsPath } from "./address";
import { Exports } from "./Exports";
import { ORDERS, type Order, type Question } from "./model";
import { NoSessions } from "./NoSessions";
import { createSessionList } from "./rows";
import { SessionRow } from "./SessionRow";
import styles from "./SessionRows.module.css";
import { useLived } from "./useReading";
import { countWords, ORDER_NAMES } from "./words";

/** The sessions themselves, by pages. */
export function SessionRows({ question }: { readonly question: Question }) {
  const list = useLived((request, parts) => createSessionList(request, question, parts), [sessionsPath(question)]);
  const sessions = list.sessions.value;
  const problem = list.first.problem.value;
  if (sessions === null && problem !== null)
    return <ProblemNotice problem={problem} onRetry={() => void list.first.again()} />;
  if (sessions === null) return <SkeletonRows count={8} label="Loading sessions" />;
  if (sessions.length === 0) return <NoSessions question={question} />;
  return (
    <>
      <div class={styles.bar}>
        <p class={styles.count} role="status">
          {countWords(list.totalCount.value)}
        </p>
        <OrderChoice question={question} />
        <Exports question={question} />
      </div>
      <ul class={look.list} aria-label="Sessions">
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
      <MoreRows
        complete={!list.hasMore.value}
        count={sessions.length}
        more={list.more}
        onMore={() => void list.loadMore()}
      />
    </>
  );
}

function OrderChoice({ question }: { readonly question: Question }) {
  const choose = (order: Order) => navigate(sessionsPath({ ...question, order }), { replace: true });
  return (
    <label class={styles.order}>
      <span>Order</span>
      <select value={question.order} onChange={({ currentTarget }) => choose(currentTarget.value as Order)}>
        {ORDERS.map((order) => (
          <option key={order} value={order}>
            {ORDER_NAMES[order]}
          </option>
        ))}
      </select>
    </label>
  );
}
