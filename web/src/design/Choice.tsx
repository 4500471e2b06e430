import styles from "./Choice.module.css";

interface ChoiceProps<Option> {
  readonly label: string;
  readonly options: readonly Option[];
  readonly chosen: Option;
  readonly name: (option: Option) => string;
  readonly onChoose: (option: Option) => void;
}

/** A few ways to look at the same thing. */
export function Choice<Option extends string | number>({
  label,
  options,
  chosen,
  name,
  onChoose,
}: ChoiceProps<Option>) {
  return (
    <div class={styles.choice} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option}
          type="button"
          class={styles.option}
          aria-pressed={option === chosen}
          onClick={() => onChoose(option)}
        >
          {name(option)}
        </button>
      ))}
    </div>
  );
}
