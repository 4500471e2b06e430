import { classes } from "../design/classes";
import { plural } from "../kernel/format";
import type { Suggestion } from "./suggestions";
import styles from "./SuggestionList.module.css";

interface SuggestionListProps {
  readonly id: string;
  readonly typed: string;
  readonly suggestions: readonly Suggestion[];
  readonly active: number | null;
  readonly onChoose: (text: string) => void;
}

/** Always in the document, because the field names it; empty and hidden when there is nothing to offer. */
export function SuggestionList({ id, typed, suggestions, active, onChoose }: SuggestionListProps) {
  return (
    <ul id={id} role="listbox" aria-label="Suggestions" class={styles.list} hidden={suggestions.length === 0}>
      {suggestions.map((suggestion, index) => (
        <li
          key={suggestion.text}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          class={classes(styles.option, index === active && styles.active)}
          onPointerDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => onChoose(suggestion.text)}
        >
          <span class={styles.text} dir="auto">
            <Completed typed={typed} text={suggestion.text} />
          </span>
          <span class={styles.count}>{plural(suggestion.segments, "text")}</span>
        </li>
      ))}
    </ul>
  );
}

/** What is new stands out. A word that is written otherwise than it was typed is new as a whole. */
function Completed({ typed, text }: { readonly typed: string; readonly text: string }) {
  const begun = typed.trimStart();
  if (!text.toLowerCase().startsWith(begun.toLowerCase())) return <b>{text}</b>;
  return (
    <>
      {text.slice(0, begun.length)}
      <b>{text.slice(begun.length)}</b>
    </>
  );
}
