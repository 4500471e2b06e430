import type { ComponentChildren } from "preact";
import { navigate } from "./router";

interface LinkProps {
  readonly to: string;
  readonly class?: string | undefined;
  readonly "aria-label"?: string;
  readonly "aria-describedby"?: string;
  readonly title?: string;
  readonly tabIndex?: number;
  readonly onFocus?: () => void;
  readonly onPointerEnter?: () => void;
  /** Whether it leads to where one is. */
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A real link, so that it opens in a new tab as any other; a plain click stays on the page. */
export function Link({ to, current = false, ...rest }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={onClick} {...(current ? { "aria-current": "page" as const } : {})} />;
}
