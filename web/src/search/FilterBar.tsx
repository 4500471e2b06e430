import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Button } from "../design/Button";
import { Icon } from "../design/Icon";
import { withFilter, withoutFilters } from "./address";
import styles from "./FilterBar.module.css";
import { FilterPanel } from "./FilterPanel";
import { FILTERS, SORTS, type Question, type Sort } from "./model";
import { filterText } from "./words";

interface FilterBarProps {
  readonly question: Question;
  /** What is said of the hits, at the start of the bar. */
  readonly count: string;
  readonly onChange: (question: Question) => void;
}

const SORT_LABELS: Record<Sort, string> = {
  relevance: "Best match",
  recency: "Newest video",
  confidence: "Highest confidence",
};

export function FilterBar({ question, count, onChange }: FilterBarProps) {
  const open = useSignal(false);
  const panelId = useId();
  return (
    <section class={styles.filters} aria-label="Filters and order">
      <div class={styles.bar}>
        <p class={styles.count} role="status">
          {count}
        </p>
        <label class={styles.sort}>
          <span>Order</span>
          <select
            value={question.sort}
            onChange={({ currentTarget }) => onChange({ ...question, sort: currentTarget.value as Sort })}
          >
            {SORTS.map((sort) => (
              <option key={sort} value={sort}>
                {SORT_LABELS[sort]}
              </option>
            ))}
          </select>
        </label>
        <Button
          icon="filter"
          aria-expanded={open.value}
          aria-controls={panelId}
          onClick={() => (open.value = !open.value)}
        >
          Filters
        </Button>
      </div>
      <div id={panelId} hidden={!open.value}>
        {open.value && <FilterPanel question={question} onChange={onChange} />}
      </div>
      <Chips question={question} onChange={onChange} />
    </section>
  );
}

/** What narrows the search now; a press takes it away. */
function Chips({ question, onChange }: Pick<FilterBarProps, "question" | "onChange">) {
  const used = FILTERS.flatMap((name) => {
    const value = question.filters[name];
    return name === "where" || value === undefined ? [] : [{ name, text: filterText(name, value) }];
  });
  if (used.length === 0) return null;
  return (
    <ul class={styles.chips} aria-label="Filters in use">
      {used.map(({ name, text }) => (
        <li key={name}>
          <button
            type="button"
            class={styles.chip}
            aria-label={`Remove filter: ${text}`}
            onClick={() => onChange(withFilter(question, name, ""))}
          >
            {text}
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
      {used.length > 1 && (
        <li>
          <button type="button" class={styles.clear} onClick={() => onChange(withoutFilters(question))}>
            Remove all
          </button>
        </li>
      )}
    </ul>
  );
}
