import { withFilter } from "./address";
import styles from "./FilterPanel.module.css";
import type { ListedFilter, Question } from "./model";
import { CONFIDENCES, ENTITIES, FILTER_LABELS, languageName, LANGUAGES, percentName } from "./words";

interface FilterPanelProps {
  readonly question: Question;
  readonly onChange: (question: Question) => void;
}

const LANGUAGE_OPTIONS = LANGUAGES.map((code) => [code, languageName(code)] as const);
const CONFIDENCE_OPTIONS = CONFIDENCES.map((share) => [share, `At least ${percentName(share)}`] as const);

/** Each change counts at once; words count when they are finished. */
export function FilterPanel({ question, onChange }: FilterPanelProps) {
  const field = (name: ListedFilter) => ({
    name,
    value: question.filters[name] ?? "",
    onValue: (value: string) => onChange(withFilter(question, name, value)),
  });
  return (
    <div class={styles.panel}>
      <Choice {...field("entity")} options={ENTITIES} />
      <Choice {...field("lang")} options={LANGUAGE_OPTIONS} />
      <Choice {...field("min")} options={CONFIDENCE_OPTIONS} />
      <Field {...field("after")} type="date" />
      <Field {...field("before")} type="date" />
      <Field {...field("match")} />
      <Field {...field("team")} />
      <Field {...field("player")} />
    </div>
  );
}

interface FieldProps {
  readonly name: ListedFilter;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Field({ name, value, onValue, type }: FieldProps & { readonly type?: "date" }) {
  return (
    <label class={styles.field}>
      <span>{FILTER_LABELS[name]}</span>
      <input
        {...(type === "date" ? { type } : { type: "text" as const, maxLength: 200 })}
        value={value}
        autocomplete="off"
        onChange={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}

interface ChoiceProps extends FieldProps {
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** An address may ask for more than the list offers: that is then one more choice. */
function Choice({ name, value, onValue, options }: ChoiceProps) {
  const isListed = value === "" || options.some(([known]) => known === value);
  return (
    <label class={styles.field}>
      <span>{FILTER_LABELS[name]}</span>
      <select value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        <option value="">Any</option>
        {!isListed && <option value={value}>{value}</option>}
        {options.map(([known, label]) => (
          <option key={known} value={known}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
