import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId, useMemo } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { IconButton } from "../design/Button";
import { Icon } from "../design/Icon";
import { wait } from "../kernel/waiting";
import { boxKey } from "./keys";
import styles from "./SearchBox.module.css";
import { SuggestionList } from "./SuggestionList";
import { createSuggestions } from "./suggestions";

interface SearchBoxProps {
  readonly field: RefObject<HTMLInputElement | null>;
  /** What is looked for now. */
  readonly text: string;
  readonly onSearch: (text: string) => void;
  /** Down, out of the field. */
  readonly onLeave: () => void;
}

/** A combobox as the ARIA practices describe it: the focus stays in the field, the list is an offer. */
export function SearchBox({ field, text, onSearch, onLeave }: SearchBoxProps) {
  const { request } = useWorkspace();
  const suggestions = useMemo(() => createSuggestions(request, wait), []);
  const typed = useSignal(text);
  const active = useSignal<number | null>(null);
  const listId = useId();
  useEffect(() => {
    typed.value = text;
  }, [text]);

  const shown = suggestions.shown.value;
  const options = shown.map((one) => one.text);
  const close = () => {
    active.value = null;
    suggestions.clear();
  };
  const send = (words: string) => {
    close();
    typed.value = words;
    onSearch(words.trim());
  };
  const type = (words: string) => {
    typed.value = words;
    active.value = null;
    void suggestions.typed(words);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return; // the keys belong to whoever writes a character with them
    const act = boxKey(event.key, { options, open: shown.length > 0, active: active.value });
    if (act === null) return;
    event.preventDefault();
    if (act.kind === "activate") active.value = act.option;
    else if (act.kind === "choose") send(act.text);
    else if (act.kind === "close") close();
    else onLeave();
  };

  return (
    <form
      role="search"
      class={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        send(typed.value);
      }}
    >
      <Icon name="search" size={22} />
      <input
        ref={field}
        type="text"
        class={styles.field}
        role="combobox"
        aria-label="Search videos"
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={listId}
        aria-activedescendant={active.value === null ? undefined : `${listId}-${active.value}`}
        placeholder="Search videos"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="search"
        maxLength={500}
        value={typed.value}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {typed.value === "" ? (
        <kbd class={styles.key} title="Press / to search">
          /
        </kbd>
      ) : (
        <IconButton
          icon="close"
          label="Clear"
          onClick={() => {
            type("");
            field.current?.focus();
          }}
        />
      )}
      <SuggestionList id={listId} typed={typed.value} suggestions={shown} active={active.value} onChoose={send} />
    </form>
  );
}
