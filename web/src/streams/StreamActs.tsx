import { useSignal } from "@preact/signals";
import { navigate } from "../app/router";
import { LIVE_PATH } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { ConfirmDialog } from "../design/ConfirmDialog";
import { changeStream, CLIP_SECONDS, clipNow, deleteStream, record, rotateKey, stopRecording } from "./acts";
import type { NewKey } from "./acts";
import { KeyDialog } from "./KeyDialog";
import { isPlayable, isPublished, runningOf, type Recording, type Stream } from "./model";
import { EditStreamDialog } from "./StreamDialog";
import styles from "./StreamActs.module.css";

interface StreamActsProps {
  readonly stream: Stream;
  readonly recordings: readonly Recording[];
  readonly onAct: () => void;
}

/** Nothing for those who may only watch. */
export function StreamActs(props: StreamActsProps) {
  const { mayChange } = useWorkspace();
  if (!mayChange) return null;
  return (
    <div class={styles.acts}>
      <LiveActs {...props} />
      <span class={styles.gap} />
      <OwnerActs {...props} />
    </div>
  );
}

function LiveActs({ stream, recordings, onAct }: StreamActsProps) {
  const { request } = useWorkspace();
  const busy = useSignal(false);
  const running = runningOf(recordings);
  const once = async (act: () => Promise<unknown>) => {
    busy.value = true;
    await act();
    busy.value = false;
    onAct();
  };
  if (!isPublished(stream) && running === null) return null;
  return (
    <>
      {running === null ? (
        <Button icon="record" disabled={busy.value} onClick={() => void once(() => record(request, stream))}>
          Record
        </Button>
      ) : (
        <Button icon="stop" disabled={busy.value} onClick={() => void once(() => stopRecording(request, running))}>
          Stop recording
        </Button>
      )}
      {isPlayable(stream) && (
        <Button
          look="primary"
          icon="scissors"
          disabled={busy.value}
          onClick={() => void once(() => clipNow(request, stream))}
        >
          Clip the last {CLIP_SECONDS} s
        </Button>
      )}
    </>
  );
}

function OwnerActs({ stream, onAct }: StreamActsProps) {
  const { request } = useWorkspace();
  const { streamId, title, state } = stream;
  const asked = useSignal<"edit" | "key" | "suspend" | "delete" | null>(null);
  const made = useSignal<NewKey | null>(null);
  const busy = useSignal(false);
  const close = () => (asked.value = null);
  const isSuspended = state === "suspended";

  const act = async (work: () => Promise<unknown>) => {
    busy.value = true;
    await work();
    busy.value = false;
    close();
    onAct();
  };
  const suspend = (suspended: boolean) => {
    const said = suspended ? `“${title}” is suspended.` : `“${title}” takes its encoder again.`;
    return act(() => changeStream(request, { streamId, suspended }, said));
  };
  const rotate = () => act(async () => (made.value = await rotateKey(request, stream)));
  const remove = () => act(async () => (await deleteStream(request, stream)) !== null && navigate(LIVE_PATH));

  return (
    <>
      <Button onClick={() => (asked.value = "edit")}>Rename</Button>
      <Button onClick={() => (asked.value = "key")}>New key</Button>
      <Button onClick={() => (isSuspended ? void suspend(false) : (asked.value = "suspend"))}>
        {isSuspended ? "Resume" : "Suspend"}
      </Button>
      <Button icon="trash" onClick={() => (asked.value = "delete")}>
        Delete
      </Button>
      {asked.value === "edit" && <EditStreamDialog stream={stream} onDone={onAct} onClose={close} />}
      {asked.value === "key" && (
        <ConfirmDialog
          title={`Make a new key for “${title}”?`}
          confirmLabel="Make a new key"
          busy={busy.value}
          onConfirm={() => void rotate()}
          onClose={close}
        >
          The old key stops working at once, and whoever publishes with it is disconnected.
        </ConfirmDialog>
      )}
      {asked.value === "suspend" && (
        <ConfirmDialog
          title={`Suspend “${title}”?`}
          confirmLabel="Suspend"
          busy={busy.value}
          onConfirm={() => void suspend(true)}
          onClose={close}
        >
          Its key is refused until it is resumed, and whoever publishes now is disconnected.
        </ConfirmDialog>
      )}
      {asked.value === "delete" && (
        <ConfirmDialog
          title={`Delete “${title}”?`}
          confirmLabel="Delete stream"
          busy={busy.value}
          onConfirm={() => void remove()}
          onClose={close}
        >
          Its key stops working, and whoever publishes now is disconnected. Its recordings and clips are kept.
        </ConfirmDialog>
      )}
      {made.value && <KeyDialog made={made.value} onClose={() => (made.value = null)} />}
    </>
  );
}
