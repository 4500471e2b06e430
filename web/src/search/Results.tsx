import type { RefObject } from "preact";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { MoreRows } from "../design/MoreRows";
import { Notice, ProblemNotice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import { look } from "../design/Row";
import { SkeletonRows } from "../design/SkeletonRows";
import type { Problem } from "../kernel/problem";
import { isEmpty, withoutFilters } from "./address";
import { HitRow } from "./HitRow";
import { Introduction } from "./Introduction";
import type { Hit, Question } from "./model";
import styles from "./Results.module.css";
import { correctionText } from "./words";

interface ResultsProps {
  readonly list: RefObject<HTMLOListElement | null>;
  readonly question: Question;
  readonly onChange: (question: Question) => void;
  /** Null: whoever looks may not change anything. */
  readonly onClip: ((hit: Hit) => void) | null;
}

export function Results({ list, question, onChange, onClip }: ResultsProps) {
  const { search } = useWorkspace();
  if (isEmpty(question)) return <Introduction />;
  const state = search.first.value;
  if (!search.isOf(question) || state.kind === "loading")
    return <SkeletonRows count={4} label="Searching" picture="frame" />;
  if (state.kind === "failed") {
    return <Failure problem={state.problem} onRetry={() => void search.ask(question)} />;
  }
  return (
    <>
      <Corrections />
      {search.hits.value.length === 0 && search.complete.value ? (
        <NothingFound question={question} onChange={onChange} />
      ) : (
        <Hits list={list} onClip={onClip} />
      )}
    </>
  );
}

function Hits({ list, onClip }: Pick<ResultsProps, "list" | "onClip">) {
  const { search } = useWorkspace();
  const hits = search.hits.value;
  return (
    <>
      <ol ref={list} class={look.list} aria-label="Texts found">
        {hits.map((hit, index) => (
          <HitRow
            key={hit.segmentId}
            hit={hit}
            selected={search.selected.value === index}
            onSelect={() => search.select(index)}
            onClip={onClip}
          />
        ))}
      </ol>
      <MoreRows
        complete={search.complete.value}
        count={hits.length}
        more={search.more}
        onMore={() => void search.loadMore()}
      />
    </>
  );
}

function Corrections() {
  const { corrections } = useWorkspace().search;
  if (corrections.value.length === 0) return null;
  return (
    <div class={styles.corrections} role="status">
      {corrections.value.map((correction) => (
        <p key={correction.word}>{correctionText(correction)}</p>
      ))}
    </div>
  );
}

function NothingFound({ question, onChange }: Pick<ResultsProps, "question" | "onChange">) {
  const hasFilters = Object.keys(question.filters).length > 0;
  const title = question.text === "" ? "No results with these filters" : `No results for “${question.text}”`;
  return (
    <Notice
      icon="search"
      title={title}
      actions={hasFilters && <Button onClick={() => onChange(withoutFilters(question))}>Search without filters</Button>}
    >
      Try fewer words, or the beginning of a word and an asterisk: <code>goal*</code>. Text on screen can be found once
      it has been read; the video’s page shows how far that is.
    </Notice>
  );
}

/** What was asked wrongly stays wrong: trying again is no way out. */
function Failure({ problem, onRetry }: { readonly problem: Problem; readonly onRetry: () => void }) {
  if (problem.code !== "invalid_input") return <ProblemNotice problem={problem} onRetry={onRetry} />;
  return (
    <div role="alert">
      <Notice icon="search" title="This cannot be searched">
        <Phrase text={problem.message} />
      </Notice>
    </div>
  );
}
