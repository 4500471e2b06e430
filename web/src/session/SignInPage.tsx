import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { PageTitle } from "../app/PageTitle";
import { goToSignIn } from "../app/router";
import { ThemeToggle } from "../app/ThemeToggle";
import { Button } from "../design/Button";
import { ProblemText } from "../design/Phrase";
import { Wordmark } from "../design/Wordmark";
import { problemOf, sentence, type Problem } from "../kernel/problem";
import { linkProblem } from "./entry";
import { PitchLines } from "./PitchLines";
import type { Session } from "./session";
import styles from "./SignInPage.module.css";

interface SignInPageProps {
  readonly session: Session;
  /** Why the last session is over; null: there was none. */
  readonly ended: string | null;
}

export function SignInPage({ session, ended }: SignInPageProps) {
  useEffect(goToSignIn, []);
  return (
    <div class={styles.page}>
      <aside class={styles.pitch} aria-hidden="true">
        <PitchLines />
        <p class={styles.claim}>Every video, from the file to the final whistle.</p>
      </aside>
      <main class={styles.side}>
        <div class={styles.top}>
          <Wordmark />
          <ThemeToggle />
        </div>
        <div class={styles.form}>
          <PageTitle name="Sign in" class={styles.title} />
          <p class={styles.intro}>{ended === null ? "Welcome back." : `${sentence(ended)} Sign in to continue.`}</p>
          <SignInForm session={session} />
          <p class={styles.note}>
            No password? Your administrator can create a sign-in link with <code>touchline users link</code>.
          </p>
        </div>
      </main>
    </div>
  );
}

function SignInForm({ session }: { readonly session: Session }) {
  const email = useSignal("");
  const password = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal<Problem | null>(linkProblem.peek());
  const passwordField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    linkProblem.value = null; // told once
  }, []);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    busy.value = true;
    problem.value = null;
    try {
      await session.signInByPassword(email.value, password.value);
    } catch (error) {
      problem.value = problemOf(error);
      busy.value = false;
      password.value = "";
      passwordField.current?.focus();
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)}>
      <div role="alert">
        {problem.value && (
          <p class={styles.problem}>
            <ProblemText problem={problem.value} />
          </p>
        )}
      </div>
      <label class={styles.field}>
        <span>E-mail</span>
        <input
          type="text"
          inputMode="email"
          autoComplete="username"
          required
          autofocus
          maxLength={254}
          value={email.value}
          onInput={({ currentTarget }) => (email.value = currentTarget.value)}
        />
      </label>
      <label class={styles.field}>
        <span>Password</span>
        <input
          ref={passwordField}
          type="password"
          autoComplete="current-password"
          required
          maxLength={1024}
          value={password.value}
          onInput={({ currentTarget }) => (password.value = currentTarget.value)}
        />
      </label>
      <Button look="primary" type="submit" class={styles.submit} disabled={busy.value}>
        {busy.value ? "Signing in …" : "Sign in"}
      </Button>
    </form>
  );
}
