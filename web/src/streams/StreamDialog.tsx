import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { changeStream, createStream, type NewKey } from "./acts";
import type { Stream } from "./model";
import styles from "./StreamDialog.module.css";

const LONGEST_TITLE = 200;

interface NewStreamDialogProps {
  readonly onMade: (key: NewKey) => void;
  readonly onClose: () => void;
}

export function NewStreamDialog({ onMade, onClose }: NewStreamDialogProps) {
  const { request } = useWorkspace();
  const save = async (title: string, record: boolean) => {
    const made = await createStream(request, title, record);
    if (made !== null) onMade(made);
  };
  return (
    <StreamForm name="New stream" act="Create stream" title="" record={false} save={save} onClose={onClose}>
      Its key is shown once, on the next page of this dialog.
    </StreamForm>
  );
}

interface EditStreamDialogProps {
  readonly stream: Stream;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function EditStreamDialog({ stream, onDone, onClose }: EditStreamDialogProps) {
  const { request } = useWorkspace();
  const { streamId, title: known, record: isRecorded } = stream;
  const save = async (title: string, record: boolean) => {
    if ((await changeStream(request, { streamId, title, record }, "The stream was changed.")) === null) return;
    onDone();
    onClose();
  };
  return (
    <StreamForm name="Change the stream" act="Save" title={known} record={isRecorded} save={save} onClose={onClose} />
  );
}

interface StreamFormProps {
  readonly name: string;
  readonly act: string;
  readonly title: string;
  readonly record: boolean;
  readonly save: (title: string, record: boolean) => Promise<void>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** It is open for as long as it is rendered. */
function StreamForm({ name, act, title: known, record: isRecorded, save, onClose, children }: StreamFormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const title = useSignal(known);
  const record = useSignal(isRecorded);
  const busy = useSignal(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    busy.value = true;
    await save(title.value.trim(), record.value);
    busy.value = false;
  };
  return (
    <dialog ref={dialog} class={styles.dialog} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId} class={styles.title}>
        {name}
      </h2>
      <form onSubmit={(event) => void submit(event)}>
        <label class={styles.field}>
          <span>Title</span>
          <input
            type="text"
            required
            autofocus
            pattern=".*\S.*"
            maxLength={LONGEST_TITLE}
            value={title.value}
            onInput={({ currentTarget }) => (title.value = currentTarget.value)}
          />
        </label>
        <label class={styles.check}>
          <input
            type="checkbox"
            checked={record.value}
            onChange={({ currentTarget }) => (record.value = currentTarget.checked)}
          />
          <span>Record it whenever it goes live</span>
        </label>
        <p class={styles.text}>{children}</p>
        <div class={styles.actions}>
          <Button onClick={() => dialog.current?.close()}>Cancel</Button>
          <Button type="submit" look="primary" disabled={busy.value}>
            {act}
          </Button>
        </div>
      </form>
    </dialog>
  );
}
