import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./Button";
import styles from "./ConfirmDialog.module.css";

interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly confirmLabel: string;
  readonly closeLabel?: string;
  readonly busy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something cannot be taken back. It is open for as long as it is rendered. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirmLabel, closeLabel = "Cancel", busy, onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class={styles.dialog} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId} class={styles.title}>
        {title}
      </h2>
      <div class={styles.text}>{children}</div>
      <div class={styles.actions}>
        <Button autofocus onClick={() => dialog.current?.close()}>
          {closeLabel}
        </Button>
        <Button look="danger" disabled={busy} onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </div>
    </dialog>
  );
}
