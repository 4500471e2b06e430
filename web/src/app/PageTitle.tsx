import { useEffect, useRef } from "preact/hooks";
import styles from "./PageTitle.module.css";

interface PageTitleProps {
  /** Also the name of the browser's tab. */
  readonly name: string;
  readonly class?: string | undefined;
  /** Said and not shown, where the page shows its name in another way. */
  readonly hidden?: boolean;
}

let isFirstPage = true;

/** The heading of a page. It takes the focus when the page changes, as a newly loaded document would. */
export function PageTitle({ name, hidden = false, class: look }: PageTitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · Touchline`;
  }, [name]);
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus({ preventScroll: true });
    isFirstPage = false;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1} class={hidden ? styles.hidden : look}>
      {name}
    </h1>
  );
}
