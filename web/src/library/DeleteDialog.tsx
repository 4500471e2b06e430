import { useSignal } from "@preact/signals";
import { tell, tellProblem } from "../app/messages";
import { useWorkspace } from "../app/workspace";
import { ConfirmDialog } from "../design/ConfirmDialog";
import { problemOf } from "../kernel/problem";
import { canCancel } from "../uploads/machine";
import type { Video } from "./model";
import { isPlayable, isUnfinishedUpload } from "./rules";

interface DeleteDialogProps {
  readonly video: Video;
  readonly onClose: () => void;
}

export function DeleteDialog({ video, onClose }: DeleteDialogProps) {
  const { library, uploads } = useWorkspace();
  const busy = useSignal(false);
  const isUpload = isUnfinishedUpload(video);
  const undo = async () => {
    try {
      await library.undelete(video);
      tell(`“${video.title}” was restored.`);
    } catch (error) {
      tellProblem(problemOf(error));
    }
  };
  const confirm = async () => {
    busy.value = true;
    try {
      const own = uploads.queue.peek().find(({ artifactHash }) => artifactHash === video.artifactHash);
      if (own !== undefined && canCancel(own)) await uploads.cancel(own.id);
      await library.remove(video);
      tell(`“${video.title}” was deleted.`, isPlayable(video) ? { label: "Undo", act: () => void undo() } : undefined);
      document.querySelector("h1")?.focus(); // the button that had the focus went with its row
    } catch (error) {
      tellProblem(problemOf(error));
    }
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Delete “${video.title}”?`}
      confirmLabel={isUpload ? "Discard upload" : "Delete video"}
      busy={busy.value}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {isUpload
        ? "The upload is not finished. The parts that have arrived are deleted."
        : "It is removed from the library, and its link stops working for everyone."}
    </ConfirmDialog>
  );
}
