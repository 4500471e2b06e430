import { useSignal } from "@preact/signals";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import { copyText } from "../app/clipboard";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { Choice } from "../design/Choice";
import { ProblemText } from "../design/Phrase";
import { now } from "../kernel/clock";
import { formatAge, formatDate, formatUntil, plural } from "../kernel/format";
import { createShareLinks, LIFETIMES, stateOf, type ShareLink, type ShareLinks } from "./links";
import styles from "./ShareDialog.module.css";

interface ShareDialogProps {
  readonly artifactHash: string;
  readonly title: string;
  readonly onClose: () => void;
}

/** It is open for as long as it is rendered. */
export function ShareDialog({ artifactHash, title, onClose }: ShareDialogProps) {
  const { request, mayChange } = useWorkspace();
  const links = useMemo(() => createShareLinks(request, artifactHash, Date.now), []);
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
    void links.load();
  }, []);
  return (
    <dialog ref={dialog} class={styles.dialog} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId} class={styles.title}>
        Share “{title}”
      </h2>
      <p class={styles.text}>
        Whoever has a share link can watch this video without signing in, until the link expires.
      </p>
      {mayChange && <NewLink links={links} />}
      {links.problem.value && (
        <p class={styles.problem} role="alert">
          <ProblemText problem={links.problem.value} />
        </p>
      )}
      <LinkList links={links} mayChange={mayChange} />
      <div class={styles.actions}>
        <Button onClick={() => dialog.current?.close()}>Close</Button>
      </div>
    </dialog>
  );
}

function NewLink({ links }: { readonly links: ShareLinks }) {
  const days = useSignal<number>(LIFETIMES[1]);
  const busy = useSignal(false);
  const make = async () => {
    busy.value = true;
    await links.create(days.value);
    busy.value = false;
  };
  return (
    <div class={styles.make}>
      <Choice
        label="How long the link is valid"
        options={LIFETIMES}
        chosen={days.value}
        name={(option) => (option === 365 ? "1 year" : plural(option, "day"))}
        onChoose={(option) => (days.value = option)}
      />
      <Button look="primary" icon="link" disabled={busy.value} onClick={() => void make()}>
        Create link
      </Button>
      {links.url.value !== null && <Address url={links.url.value} />}
    </div>
  );
}

function Address({ url }: { readonly url: string }) {
  return (
    <div class={styles.address} role="status">
      <div class={styles.copy}>
        <input
          class={styles.url}
          type="text"
          readOnly
          value={url}
          aria-label="The new link"
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <Button onClick={() => void copyText(url, "Select the link and copy it.")}>Copy</Button>
      </div>
      <p class={styles.hint}>Copy it now: it is shown only this once.</p>
    </div>
  );
}

interface LinkListProps {
  readonly links: ShareLinks;
  readonly mayChange: boolean;
}

function LinkList({ links, mayChange }: LinkListProps) {
  const found = links.links.value;
  if (found === null) return null;
  if (found.length === 0) return <p class={styles.hint}>There are no links to this video yet.</p>;
  return (
    <ul class={styles.list} aria-label="Links to this video">
      {found.map((link) => (
        <LinkRow key={link.id} link={link} onRevoke={mayChange ? () => void links.revoke(link) : null} />
      ))}
    </ul>
  );
}

interface LinkRowProps {
  readonly link: ShareLink;
  readonly onRevoke: (() => void) | null;
}

function LinkRow({ link, onRevoke }: LinkRowProps) {
  const state = stateOf(link, now.value);
  const made = formatAge(link.createdAt, now.value);
  return (
    <li class={styles.row}>
      <div>
        <p class={styles.state}>
          {state === "valid" && (
            <>
              Ends{" "}
              <time dateTime={link.expiresAt} title={formatDate(link.expiresAt)}>
                {formatUntil(link.expiresAt, now.value)}
              </time>
            </>
          )}
          {state === "expired" && "Expired"}
          {state === "revoked" && "Revoked"}
        </p>
        <p class={styles.hint}>
          Made {made}
          {link.createdBy !== null && ` by ${link.createdBy}`}
        </p>
      </div>
      {state === "valid" && onRevoke && (
        <Button onClick={onRevoke} aria-label={`Revoke the link created ${made}`}>
          Revoke
        </Button>
      )}
    </li>
  );
}
