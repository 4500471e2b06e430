import { useSignal } from "@preact/signals";
import { useWorkspace } from "../app/workspace";
import { ConfirmDialog } from "../design/ConfirmDialog";
import { cancelJobs } from "./acts";
import type { Job } from "./model";
import { nameOf } from "./words";

interface CancelDialogProps {
  readonly job: Pick<Job, "id" | "jobType" | "status" | "vod" | "clip">;
  readonly onClose: () => void;
  readonly onAct: () => void;
}

export function CancelDialog({ job, onClose, onAct }: CancelDialogProps) {
  const { request } = useWorkspace();
  const busy = useSignal(false);
  const confirm = async () => {
    busy.value = true;
    await cancelJobs(request, { ids: [job.id] });
    onAct();
    onClose();
    document.querySelector("h1")?.focus(); // the button that had the focus may have gone with its row
  };
  return (
    <ConfirmDialog
      title={`Cancel “${nameOf(job)}”?`}
      confirmLabel="Cancel job"
      closeLabel="Keep job"
      busy={busy.value}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {job.status === "processing" ? "The worker stops it. " : ""}
      The job and the jobs that depend on it are cancelled. You can retry them later.
    </ConfirmDialog>
  );
}
