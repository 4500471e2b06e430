import { useEffect, useRef } from "preact/hooks";
import { Button, IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { Icon } from "../design/Icon";
import { Phrase } from "../design/Phrase";
import { Link } from "./Link";
import { dismiss, shownForMs, toasts, type Toast, type ToastAct } from "./messages";
import styles from "./Toasts.module.css";

/** Both regions are always there: readers announce what is added to them, not what comes with them. */
export function Toasts() {
  const shown = toasts.value;
  return (
    <div class={styles.toasts}>
      <div role="alert">{shown.filter(({ kind }) => kind === "problem").map(card)}</div>
      <div role="status">{shown.filter(({ kind }) => kind === "news").map(card)}</div>
    </div>
  );
}

function card(toast: Toast) {
  return <ToastCard key={toast.id} toast={toast} />;
}

function ToastCard({ toast }: { readonly toast: Toast }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const rest = () => clearTimeout(timer.current);
  const leaveSoon = () => {
    rest();
    timer.current = setTimeout(() => dismiss(toast.id), shownForMs(toast));
  };
  useEffect(() => {
    leaveSoon();
    return rest;
  }, []);
  const isProblem = toast.kind === "problem";
  return (
    <div
      class={classes(styles.toast, isProblem && styles.problem)}
      onPointerEnter={rest}
      onPointerLeave={leaveSoon}
      onFocusIn={rest}
      onFocusOut={leaveSoon}
    >
      <Icon name={isProblem ? "alert" : "check"} />
      <p class={styles.text}>
        <Phrase text={toast.text} /> {toast.hint !== "" && <Phrase text={toast.hint} />}
        {toast.link && "to" in toast.link && <Link to={toast.link.to}>{toast.link.label}</Link>}
      </p>
      {toast.link && "act" in toast.link && <ActButton toast={toast} link={toast.link} />}
      <IconButton icon="close" label="Dismiss" onClick={() => dismiss(toast.id)} />
    </div>
  );
}

/** Once: whoever presses it is done with the message. */
function ActButton({ toast, link }: { readonly toast: Toast; readonly link: ToastAct }) {
  const press = () => {
    dismiss(toast.id);
    link.act();
  };
  return <Button onClick={press}>{link.label}</Button>;
}
