import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { tellProblem } from "../app/messages";
import { useWorkspace } from "../app/workspace";
import { Icon } from "../design/Icon";
import styles from "./DropArea.module.css";
import { carriesFiles, readDrop } from "./dropped";

interface DropAreaProps {
  readonly enabled: boolean;
  readonly children: ComponentChildren;
}

/** The whole window takes files: a file that is dropped beside a small target would be opened instead of the page. */
export function DropArea({ enabled, children }: DropAreaProps) {
  const { uploads } = useWorkspace();
  const over = useSignal(false);
  useEffect(() => {
    if (!enabled) return undefined;
    const life = new AbortController();
    listen(life.signal, {
      onOver: (isOver) => (over.value = isOver),
      onDrop: (transfer) => {
        const { files, folders } = readDrop(transfer);
        if (folders > 0) tellProblem(FOLDERS);
        uploads.add(files);
      },
    });
    return () => life.abort();
  }, [enabled]);
  return (
    <>
      {children}
      {over.value && (
        <div class={styles.overlay} aria-hidden="true">
          <div class={styles.frame}>
            <Icon name="upload" size={40} />
            <p class={styles.text}>Drop to upload</p>
          </div>
        </div>
      )}
    </>
  );
}

const FOLDERS = {
  code: "invalid_input",
  message: "Folders cannot be uploaded",
  hint: "Choose the files inside instead.",
};

interface DropHandlers {
  onOver(isOver: boolean): void;
  onDrop(transfer: DataTransfer): void;
}

function listen(signal: AbortSignal, handlers: DropHandlers): void {
  const onDrag = (event: DragEvent) => {
    if (!carriesFiles(event.dataTransfer)) return;
    event.preventDefault(); // says: this can be dropped here
    event.dataTransfer.dropEffect = "copy";
    handlers.onOver(true);
  };
  addEventListener("dragenter", onDrag, { signal });
  addEventListener("dragover", onDrag, { signal });
  addEventListener(
    "dragleave",
    (event) => {
      if (event.relatedTarget === null) handlers.onOver(false); // it left the window, not just one element for another
    },
    { signal },
  );
  addEventListener(
    "drop",
    (event) => {
      handlers.onOver(false);
      if (!carriesFiles(event.dataTransfer)) return;
      event.preventDefault();
      handlers.onDrop(event.dataTransfer);
    },
    { signal },
  );
}
