import type { ComponentChild } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { Notice, ProblemNotice } from "../design/Notice";
import { Mark } from "../design/Wordmark";
import { JobPage } from "../jobs/JobPage";
import { JobsPage } from "../jobs/JobsPage";
import { LibraryPage } from "../library/LibraryPage";
import { MatchesPage } from "../matches/MatchesPage";
import { WatchPage } from "../player/WatchPage";
import { SearchPage } from "../search/SearchPage";
import { SessionPage } from "../sessions/SessionPage";
import { SessionsPage } from "../sessions/SessionsPage";
import type { Identity } from "../session/model";
import type { Session } from "../session/session";
import { SignInPage } from "../session/SignInPage";
import { LivePage } from "../streams/LivePage";
import { StreamPage } from "../streams/StreamPage";
import { StoragePage } from "../storage/StoragePage";
import { StoredPage } from "../storage/StoredPage";
import styles from "./App.module.css";
import { ErrorBoundary } from "./ErrorBoundary";
import { PageTitle } from "./PageTitle";
import { navigate, route } from "./router";
import { nextPath, type Route } from "./routes";
import { Shell } from "./Shell";
import { Toasts } from "./Toasts";
import { createWorkspace, WorkspaceContext } from "./workspace";

export function App({ session }: { readonly session: Session }) {
  return (
    <ErrorBoundary>
      <Door session={session} />
      <Toasts />
    </ErrorBoundary>
  );
}

/** Everything is behind it; what is in the address waits until somebody is signed in. */
function Door({ session }: { readonly session: Session }) {
  const state = session.state.value;
  switch (state.kind) {
    case "starting":
      return (
        <div class={classes(styles.centre, styles.splash)} role="status" aria-label="Loading">
          <Mark size={48} />
        </div>
      );
    case "unreachable":
      return (
        <div class={styles.centre}>
          <ProblemNotice problem={state.problem} onRetry={() => void session.start()} />
        </div>
      );
    case "signed-out":
      return <SignInPage session={session} ended={state.ended} />;
    case "signed-in":
      return <SignedIn key={keyOf(state.identity)} session={session} identity={state.identity} />;
  }
}

function keyOf({ user, tenant }: Identity): string {
  return `${tenant.id}.${user.id}.${user.role}`;
}

function SignedIn({ session, identity }: { readonly session: Session; readonly identity: Identity }) {
  const workspace = useMemo(() => createWorkspace(session, identity), []);
  useEffect(() => workspace.end, []);
  return (
    <WorkspaceContext.Provider value={workspace}>
      <Shell onSignOut={session.signOut}>
        <Page />
      </Shell>
    </WorkspaceContext.Provider>
  );
}

function Page() {
  const { value } = route;
  const isSignIn = value.page === "sign-in";
  useEffect(() => {
    if (isSignIn) navigate(nextPath(location.search), { replace: true });
  }, [isSignIn]);
  return pageOf(value);
}

/** A page for every kind of address. */
const PAGES: { readonly [Name in Route["page"]]: (route: Extract<Route, { page: Name }>) => ComponentChild } = {
  library: () => <LibraryPage />,
  watch: (route) => <WatchPage key={`${route.playbackId} ${route.startMs}`} {...route} />,
  matches: ({ query }) => <MatchesPage query={query} />,
  search: ({ query }) => <SearchPage query={query} />,
  jobs: ({ query }) => <JobsPage query={query} />,
  job: ({ jobId }) => <JobPage key={jobId} jobId={jobId} />,
  sessions: ({ query }) => <SessionsPage query={query} />,
  session: ({ sessionId }) => <SessionPage key={sessionId} sessionId={sessionId} />,
  storage: ({ query }) => <StoragePage query={query} />,
  stored: ({ artifactHash }) => <StoredPage key={artifactHash} artifactHash={artifactHash} />,
  live: () => <LivePage />,
  stream: ({ streamId }) => <StreamPage key={streamId} streamId={streamId} />,
  "sign-in": () => null, // on the way to where they wanted to go
  unknown: () => <UnknownPage />,
};

/** The compiler does not see that an address and its page are of the same kind. */
function pageOf(value: Route): ComponentChild {
  return (PAGES[value.page] as (route: Route) => ComponentChild)(value);
}

function UnknownPage() {
  return (
    <>
      <PageTitle name="Not found" hidden />
      <Notice
        icon="alert"
        title="This page does not exist"
        actions={<Button onClick={goHome}>Go to the library</Button>}
      >
        Check the link, or search for the video in the library.
      </Notice>
    </>
  );
}

function goHome(): void {
  navigate("/");
}
