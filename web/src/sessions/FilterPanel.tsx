import { SessionChoicesDocument } from "../api/generated";
import { navigate } from "../app/router";
import { askedRange, sessionsPath, withFilters } from "./address";
import styles from "./FilterPanel.module.css";
import { DIMENSIONS, OUTCOMES, type FilterName, type Question } from "./model";
import { useReading } from "./useReading";
import { FILTER_LABELS, keyWords, OUTCOME_WORDS } from "./words";

const ANSWERS = [
  ["yes", "Yes"],
  ["no", "No"],
] as const;
const OUTCOME_OPTIONS = OUTCOMES.map((outcome) => [outcome, OUTCOME_WORDS[outcome]] as const);

/** Each change counts at once. What can be chosen is what there is in this time. */
export function FilterPanel({ question }: { readonly question: Question }) {
  const { range } = question;
  const choices = useReading(
    (request) => request(SessionChoicesDocument, { filter: askedRange(range, Date.now()) }),
    [sessionsPath({ ...question, filters: {} })],
  );
  const field = (name: FilterName) => ({
    name,
    value: question.filters[name],
    onValue: (value: string | undefined) =>
      navigate(sessionsPath(withFilters(question, { [name]: value })), { replace: true }),
  });
  return (
    <div class={styles.panel}>
      {DIMENSIONS.map((dimension) => (
        <Choice
          key={dimension}
          {...field(dimension)}
          options={(choices.answer.value?.[dimension] ?? []).map(
            ({ key }) => [key ?? "", keyWords(dimension, key)] as const,
          )}
        />
      ))}
      <Choice {...field("outcome")} options={OUTCOME_OPTIONS} />
      <Choice {...field("swapped")} options={ANSWERS} />
      <Choice {...field("failed")} options={ANSWERS} />
      <label class={styles.field}>
        <span>{FILTER_LABELS.find}</span>
        <input
          type="search"
          value={question.filters.find ?? ""}
          maxLength={300}
          autocomplete="off"
          placeholder="Part of an id"
          onChange={({ currentTarget }) => field("find").onValue(currentTarget.value)}
        />
      </label>
    </div>
  );
}

interface ChoiceProps {
  readonly name: FilterName;
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** An address may ask for more than the list offers: that is then one more choice. An empty text is a value too. */
function Choice({ name, value, onValue, options }: ChoiceProps) {
  const isListed = value === undefined || options.some(([known]) => known === value);
  const all = isListed ? options : [[value, value === "" ? "Unknown" : value] as const, ...options];
  return (
    <label class={styles.field}>
      <span>{FILTER_LABELS[name]}</span>
      <select
        value={value === undefined ? "" : `=${value}`}
        onChange={({ currentTarget }) => onValue(currentTarget.value === "" ? undefined : currentTarget.value.slice(1))}
      >
        <option value="">Any</option>
        {all.map(([known, label]) => (
          <option key={known} value={`=${known}`}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
