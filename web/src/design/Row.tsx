import type { LiHTMLAttributes, Ref } from "preact";
import { classes } from "./classes";
import styles from "./Row.module.css";

interface RowProps extends Omit<LiHTMLAttributes, "class"> {
  /** Its columns, which are each list's own. */
  readonly class?: string | undefined;
  readonly element?: Ref<HTMLLIElement>;
}

/** One row of a list. The link in its title is the whole row. */
export function Row({ class: columns, element, ...rest }: RowProps) {
  return <li {...rest} {...(element ? { ref: element } : {})} class={classes(styles.row, columns)} />;
}

/** The looks of what is around a row and in it. `above` is for what is pressed by itself, in spite of the link. */
export const look = {
  list: styles.list,
  words: styles.words,
  title: styles.title,
  facts: styles.facts,
  failure: styles.failure,
  above: styles.above,
};
