import type { ComponentChildren } from "preact";
import type { Problem } from "../kernel/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";
import styles from "./Notice.module.css";
import { Phrase } from "./Phrase";

interface NoticeProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
}

/** In the place of a page's content: why there is none, and what to do. */
export function Notice({ icon, title, children, actions }: NoticeProps) {
  return (
    <section class={styles.notice}>
      <div class={styles.icon}>
        <Icon name={icon} size={28} />
      </div>
      <h2 class={styles.title}>{title}</h2>
      <div class={styles.text}>{children}</div>
      {actions && <div class={styles.actions}>{actions}</div>}
    </section>
  );
}

export function ProblemNotice({ problem, onRetry }: { readonly problem: Problem; readonly onRetry: () => void }) {
  return (
    <div role="alert">
      <Notice
        icon="alert"
        title={problem.message.charAt(0).toUpperCase() + problem.message.slice(1)}
        actions={
          <Button icon="replay" onClick={onRetry}>
            Try again
          </Button>
        }
      >
        <Phrase text={problem.hint} />
      </Notice>
    </div>
  );
}
