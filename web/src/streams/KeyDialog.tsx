import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { PublishUrlsDocument } from "../api/generated";
import { copyText } from "../app/clipboard";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { ProblemText } from "../design/Phrase";
import { problemOf, type Problem } from "../kernel/problem";
import type { NewKey } from "./acts";
import { publishSettings } from "./model";
import styles from "./KeyDialog.module.css";

interface KeyDialogProps {
  readonly made: NewKey;
  readonly onClose: () => void;
}

/** A new key, and where encoders send it. It is open for as long as it is rendered. */
export function KeyDialog({ made: { title, streamKey }, onClose }: KeyDialogProps) {
  const { request } = useWorkspace();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const { urls, problem, load } = useMemo(() => {
    const urls = signal<readonly string[] | null>(null);
    const problem = signal<Problem | null>(null);
    const load = async () => {
      try {
        urls.value = (await request(PublishUrlsDocument, {})).publishUrls;
      } catch (error) {
        problem.value = problemOf(error);
      }
    };
    return { urls, problem, load };
  }, []);
  useEffect(() => {
    dialog.current?.showModal();
    void load();
  }, []);
  return (
    <dialog ref={dialog} class={styles.dialog} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId} class={styles.title}>
        Publish to “{title}”
      </h2>
      <p class={styles.text}>
        Copy the key now: it is shown only this once. Whoever has it can publish to this stream. In OBS choose Settings,
        Stream, and the service “Custom”.
      </p>
      {problem.value && (
        <p role="alert">
          <ProblemText problem={problem.value} />
        </p>
      )}
      {urls.value !== null && <Settings urls={urls.value} streamKey={streamKey} />}
      <div class={styles.actions}>
        <Button look="primary" onClick={() => dialog.current?.close()}>
          I have copied it
        </Button>
      </div>
    </dialog>
  );
}

function Settings({ urls, streamKey }: { readonly urls: readonly string[]; readonly streamKey: string }) {
  const settings = publishSettings(urls, streamKey);
  if (settings.length === 0) {
    return (
      <>
        <p role="alert">No node takes publishers now. Start one, or ask your administrator to.</p>
        <Copied name="Stream key" text={streamKey} label="The stream key" />
      </>
    );
  }
  return (
    <>
      {settings.map(({ protocol, server, streamKey: key }) => (
        <section key={server} aria-label={protocol}>
          <h3 class={styles.protocol}>{protocol}</h3>
          <Copied name="Server" text={server} label={`The ${protocol} server`} />
          {key === null ? (
            <p class={styles.text}>Leave the stream key empty: the address carries it.</p>
          ) : (
            <Copied name="Stream key" text={key} label="The stream key" />
          )}
        </section>
      ))}
    </>
  );
}

interface CopiedProps {
  readonly name: string;
  readonly text: string;
  readonly label: string;
}

function Copied({ name, text, label }: CopiedProps) {
  const copy = () => void copyText(text, "Select the text and copy it.", `${label} was copied.`);
  return (
    <label class={styles.copied}>
      <span>{name}</span>
      <input
        type="text"
        readOnly
        value={text}
        aria-label={label}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <Button onClick={copy} aria-label={`Copy: ${label.toLowerCase()}`}>
        Copy
      </Button>
    </label>
  );
}
