import { useSignal } from "@preact/signals";
import { PageTitle } from "../app/PageTitle";
import { navigate } from "../app/router";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { ProblemNotice } from "../design/Notice";
import { SkeletonRows } from "../design/SkeletonRows";
import { now } from "../kernel/clock";
import { dayOf, namedPath, wordsOf } from "./address";
import { DayBar } from "./DayBar";
import { createDays, type Days } from "./days";
import { MatchCard } from "./MatchCard";
import { createMatches } from "./matches";
import { createNamed } from "./named";
import styles from "./MatchesPage.module.css";
import type { Playing } from "./model";
import { FeedFailure, NoMatches } from "./NoMatches";
import { chosenDay, figuresOf, groupsOf } from "./rules";
import { dateWords, figureWords, namedWords, todayOf } from "./words";

export function MatchesPage({ query }: { readonly query: string }) {
  const { matchFeed } = useWorkspace();
  const days = useSource(matchFeed, (request, ends) => createDays(request, ends), []);
  const words = wordsOf(query);
  const day = chosenDay(days.days.value, dayOf(query), todayOf(now.value));
  return (
    <>
      <div class={styles.head}>
        <PageTitle name="Matches" class={styles.title} />
        {day !== null && <Finder words={words} />}
      </div>
      {words !== "" ? (
        <Named key={words} words={words} />
      ) : day === null ? (
        <Nothing days={days} />
      ) : (
        <Day key={day} day={day} days={days} />
      )}
    </>
  );
}

/** What is typed counts when it is finished. */
function Finder({ words }: { readonly words: string }) {
  return (
    <form
      role="search"
      class={styles.finder}
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("q") as HTMLInputElement;
        navigate(namedPath(field.value));
      }}
    >
      <input
        key={words}
        type="search"
        name="q"
        defaultValue={words}
        maxLength={200}
        placeholder="Team, competition or scorer"
        aria-label="Find matches by team, competition or scorer"
        // The cross of the field empties it without a submit.
        onInput={({ currentTarget }) => {
          if (currentTarget.value === "" && words !== "") navigate(namedPath(""));
        }}
      />
    </form>
  );
}

function Named({ words }: { readonly words: string }) {
  const { matchFeed } = useWorkspace();
  const list = useSource(matchFeed, (request, ends) => createNamed(request, words, ends), [words]);
  const playing = useSignal<Playing | null>(null);
  const matches = list.matches.value;
  const loading = list.loading.value;
  return (
    <>
      <p class={styles.figures} role="status">
        {loading.kind === "idle" ? namedWords(matches.length, words) : "\u00a0"}
      </p>
      {matches.length === 0 && loading.kind === "loading" && <SkeletonRows count={2} label="Loading matches" />}
      {matches.length === 0 && loading.kind === "failed" && (
        <ProblemNotice problem={loading.problem} onRetry={() => void list.load()} />
      )}
      {matches.map((match) => (
        <section key={match.id} class={styles.group} aria-label={dateWords(match.kickOff)}>
          <h2 class={styles.heading}>{dateWords(match.kickOff)}</h2>
          <MatchCard match={match} playing={playing} />
        </section>
      ))}
    </>
  );
}

/** While there are no days: they are on their way, did not come, or there are none. */
function Nothing({ days }: { readonly days: Days }) {
  const loading = days.loading.value;
  switch (loading.kind) {
    case "loading":
      return <SkeletonRows count={4} label="Loading matches" />;
    case "failed":
      return <ProblemNotice problem={loading.problem} onRetry={() => void days.load()} />;
    case "idle":
      return <NoMatches feed={days.feed.value} />;
  }
}

function Day({ day, days }: { readonly day: string; readonly days: Days }) {
  const { matchFeed } = useWorkspace();
  const list = useSource(matchFeed, (request, ends) => createMatches(request, day, ends), [day]);
  const playing = useSignal<Playing | null>(null);
  const matches = list.matches.value;
  const loading = list.loading.value;
  return (
    <>
      <p class={styles.figures}>{matches.length > 0 ? figureWords(figuresOf(matches)) : "\u00a0"}</p>
      <FeedFailure feed={days.feed.value} />
      <DayBar days={days.days.value} chosen={day} />
      {matches.length === 0 && loading.kind === "loading" && <SkeletonRows count={4} label="Loading matches" />}
      {matches.length === 0 && loading.kind === "failed" && (
        <ProblemNotice problem={loading.problem} onRetry={() => void list.load()} />
      )}
      {groupsOf(matches).map(({ title, matches: grouped }) => (
        <section key={title} class={styles.group} aria-label={title}>
          <h2 class={styles.heading}>{title}</h2>
          {grouped.map((match) => (
            <MatchCard key={match.id} match={match} playing={playing} />
          ))}
        </section>
      ))}
    </>
  );
}
