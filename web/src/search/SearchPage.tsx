import { useEffect, useMemo, useRef } from "preact/hooks";
import { PageTitle } from "../app/PageTitle";
import { navigate } from "../app/router";
import { useWorkspace } from "../app/workspace";
import { isEmpty, questionOf, searchPath } from "./address";
import { FilterBar } from "./FilterBar";
import type { Hit, Question } from "./model";
import { PlaceFacet } from "./PlaceFacet";
import { Results } from "./Results";
import { SearchBox } from "./SearchBox";
import { useSearchKeys } from "./selection";
import { countText } from "./words";

/** The address is the question: it can be shared, and going back goes to the one before. */
export function SearchPage({ query }: { readonly query: string }) {
  const { search, clipping, mayChange } = useWorkspace();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const question = useMemo(() => questionOf(query), [query]);
  const makeClip = (hit: Hit) => {
    if (mayChange) void clipping.make(hit);
  };
  const keys = useSearchKeys(search, field, list, makeClip);
  useEffect(() => void search.ask(question), [question]);
  useEffect(() => {
    if (isEmpty(question)) field.current?.focus();
  }, []);
  const go = (next: Question) => {
    if (searchPath(next) === searchPath(question)) void search.askAgain(question);
    else navigate(searchPath(next));
  };
  const isFound = search.first.value.kind === "idle" && search.isOf(question) && !isEmpty(question);
  const count = isFound ? countText(search.hits.value.length, search.complete.value) : "";
  const hasFacet = !isEmpty(question) && search.first.value.kind !== "failed";
  return (
    <>
      <PageTitle name={question.text === "" ? "Search" : `${question.text} · Search`} hidden />
      <SearchBox
        field={field}
        text={question.text}
        onSearch={(text) => go({ ...question, text })}
        onLeave={() => keys.move(1)}
      />
      {hasFacet && <PlaceFacet places={search.places.value} question={question} onChange={go} />}
      <FilterBar question={question} count={count} onChange={go} />
      <Results list={list} question={question} onChange={go} onClip={mayChange ? makeClip : null} />
    </>
  );
}
