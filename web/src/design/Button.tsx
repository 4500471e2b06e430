import type { ButtonHTMLAttributes } from "preact";
import styles from "./Button.module.css";
import { classes } from "./classes";
import { Icon, type IconName } from "./Icon";

type Attributes = Omit<ButtonHTMLAttributes, "class" | "icon">;

interface ButtonProps extends Attributes {
  readonly class?: string | undefined;
  readonly look?: "primary" | "quiet" | "danger";
  readonly icon?: IconName;
}

export function Button({ look = "quiet", icon, children, class: extra, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={classes(styles.button, styles[look], extra)}>
      {icon && <Icon name={icon} size={18} />}
      <span>{children}</span>
    </button>
  );
}

interface DownloadLinkProps {
  readonly href: string;
  readonly icon: IconName;
  readonly children: string;
}

/** Looks like a button and leads to a file. */
export function DownloadLink({ href, icon, children }: DownloadLinkProps) {
  return (
    <a href={href} download class={classes(styles.button, styles.quiet)}>
      <Icon name={icon} size={18} />
      <span>{children}</span>
    </a>
  );
}

interface IconButtonProps extends Attributes {
  readonly class?: string | undefined;
  readonly icon: IconName;
  /** Said instead of shown. */
  readonly label: string;
}

export function IconButton({ icon, label, class: extra, ...rest }: IconButtonProps) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} class={classes(styles.iconButton, extra)}>
      <Icon name={icon} />
    </button>
  );
}
