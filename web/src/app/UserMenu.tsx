import { useSignal } from "@preact/signals";
import { Button } from "../design/Button";
import { Icon } from "../design/Icon";
import { problemOf } from "../kernel/problem";
import { initialsOf } from "./initials";
import { tellProblem } from "./messages";
import styles from "./UserMenu.module.css";
import { useWorkspace } from "./workspace";

const MENU = "user-menu";

export function UserMenu({ onSignOut }: { readonly onSignOut: () => Promise<void> }) {
  const { user, tenant } = useWorkspace().identity;
  const leaving = useSignal(false);
  const leave = () => {
    leaving.value = true;
    onSignOut().catch((error: unknown) => {
      leaving.value = false;
      tellProblem(problemOf(error));
    });
  };
  return (
    <>
      <button
        type="button"
        class={styles.opener}
        popovertarget={MENU}
        aria-label={`Account of ${user.name}, ${tenant.name}`}
      >
        <span class={styles.initials} aria-hidden="true">
          {initialsOf(user.name, user.email)}
        </span>
        <span class={styles.tenant}>{tenant.name}</span>
        <Icon name="chevron" size={16} />
      </button>
      <div id={MENU} popover="auto" class={styles.menu}>
        <p class={styles.name}>{user.name}</p>
        <p class={styles.detail}>{user.email}</p>
        <dl class={styles.facts}>
          <dt>Tenant</dt>
          <dd>{tenant.name}</dd>
          <dt>Role</dt>
          <dd>{user.role}</dd>
        </dl>
        <Button icon="leave" class={styles.leave} disabled={leaving.value} onClick={leave}>
          Sign out
        </Button>
      </div>
    </>
  );
}
