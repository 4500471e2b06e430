import type { ComponentChildren } from "preact";
import { Wordmark } from "../design/Wordmark";
import { UploadDock } from "../uploads/UploadDock";
import { Link } from "./Link";
import { LiveIndicator } from "./LiveIndicator";
import { Navigation } from "./Navigation";
import styles from "./Shell.module.css";
import { ThemeToggle } from "./ThemeToggle";
import { UserMenu } from "./UserMenu";

interface ShellProps {
  readonly onSignOut: () => Promise<void>;
  readonly children: ComponentChildren;
}

/** What is around every page of somebody who is signed in. */
export function Shell({ onSignOut, children }: ShellProps) {
  return (
    <>
      <a class={styles.skip} href="#content">
        Skip to content
      </a>
      <header class={styles.header}>
        <div class={styles.bar}>
          <Link to="/" class={styles.home} aria-label="Touchline: Library">
            <Wordmark compact />
          </Link>
          <Navigation />
          <div class={styles.tools}>
            <LiveIndicator />
            <ThemeToggle />
            <UserMenu onSignOut={onSignOut} />
          </div>
        </div>
      </header>
      <main id="content" class={styles.content} tabIndex={-1}>
        {children}
      </main>
      <UploadDock />
    </>
  );
}
