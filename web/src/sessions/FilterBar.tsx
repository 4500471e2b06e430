import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Link } from "../app/Link";
import { navigate } from "../app/router";
import { Button } from "../design/Button";
import { Icon } from "../design/Icon";
import { filtersInUse, sessionsPath, withFilters } from "./address";
import styles from "./FilterBar.module.css";
import { FilterPanel } from "./FilterPanel";
import { VIEWS, type Question } from "./model";
import { RangeBar } from "./RangeBar";
import { filterText, VIEW_NAMES } from "./words";

/** What of the sessions is looked at, how, and over what time: all of it is in the address. */
export function FilterBar({ question }: { readonly question: Question }) {
  const open = useSignal(false);
  const panelId = useId();
  const isIntake = question.view === "intake";
  return (
    <div class={styles.bars}>
      <div class={styles.bar}>
        <nav class={styles.views} aria-label="Views">
          {VIEWS.map((view) => (
            <Link
              key={view}
              to={sessionsPath({ ...question, view })}
              class={styles.view}
              current={question.view === view}
            >
              {VIEW_NAMES[view]}
            </Link>
          ))}
        </nav>
        <RangeBar question={question} />
        {!isIntake && (
          <Button
            icon="filter"
            class={styles.opener}
            aria-expanded={open.value}
            aria-controls={panelId}
            onClick={() => (open.value = !open.value)}
          >
            Filters
          </Button>
        )}
      </div>
      <div id={panelId} hidden={!open.value || isIntake}>
        {open.value && !isIntake && <FilterPanel question={question} />}
      </div>
      <Chips question={question} />
    </div>
  );
}

/** What narrows the sessions now; a press takes it away. */
function Chips({ question }: { readonly question: Question }) {
  const used = filtersInUse(question).map((name) => ({ name, text: filterText(name, question.filters[name] ?? "") }));
  if (used.length === 0) return null;
  return (
    <ul class={styles.chips} aria-label="Filters in use">
      {used.map(({ name, text }) => (
        <li key={name}>
          <button
            type="button"
            class={styles.chip}
            aria-label={`Remove filter: ${text}`}
            onClick={() => navigate(sessionsPath(withFilters(question, { [name]: undefined })), { replace: true })}
          >
            {text}
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
      {used.length > 1 && (
        <li>
          <button
            type="button"
            class={styles.clear}
            onClick={() => navigate(sessionsPath({ ...question, filters: {} }), { replace: true })}
          >
            Remove all
          </button>
        </li>
      )}
    </ul>
  );
}
