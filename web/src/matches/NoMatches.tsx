import { Notice } from "../design/Notice";
import { Phrase } from "../design/Phrase";
import type { FootballFeed } from "./model";
import styles from "./NoMatches.module.css";
import { failureTitle, failureWords, timeWords } from "./words";

/** Where the matches would be: why there are none. */
export function NoMatches({ feed }: { readonly feed: FootballFeed | null }) {
  return <div class={styles.empty}>{feed?.isEnabled ? <Awaited feed={feed} /> : <NotEnabled />}</div>;
}

/** Above the days, when the matches of a day may be missing. */
export function FeedFailure({ feed }: { readonly feed: FootballFeed | null }) {
  if (!feed?.failure) return null;
  return (
    <p role="status" class={styles.failure}>
      <strong>{failureTitle(feed)}.</strong> {failureWords(feed)}
    </p>
  );
}

function Awaited({ feed }: { readonly feed: FootballFeed }) {
  if (feed.failure !== null) {
    return (
      <div role="alert">
        <Notice icon="alert" title={failureTitle(feed)}>
          <Phrase text={failureWords(feed)} />
        </Notice>
      </div>
    );
  }
  if (feed.answeredAt === null) {
    return (
      <Notice icon="ball" title="The matches are being fetched">
        <p>They appear here as soon as the football feed has responded.</p>
      </Notice>
    );
  }
  return (
    <Notice icon="ball" title="No matches in the coming days">
      <p>
        The football feed responded at {timeWords(feed.answeredAt)}: none of the watched teams plays in the coming days.
        The settings <code>feed.leagues</code> and <code>feed.national_teams</code> choose the teams.
      </p>
    </Notice>
  );
}

function NotEnabled() {
  return (
    <Notice icon="ball" title="No matches are watched yet">
      <p>
        Set <code>watch.enabled</code> to <code>true</code> and restart Touchline: the matches of the day appear here,
        each goal with its best videos, while they are played.
      </p>
      <p>
        To try it without an account, run <code>touchline demo</code>: it plays a simulated match day.
      </p>
    </Notice>
  );
}
