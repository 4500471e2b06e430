import { useWorkspace } from "../app/workspace";
import { reprioritiseJobs } from "./acts";
import styles from "./PriorityChoice.module.css";
import { choicesFor } from "./priorities";
import type { Job } from "./model";

interface PriorityChoiceProps {
  readonly job: Pick<Job, "id" | "priority">;
  readonly onAct: () => void;
}

export function PriorityChoice({ job, onAct }: PriorityChoiceProps) {
  const { request, identity } = useWorkspace();
  const choose = (event: Event) => {
    const priority = Number((event.currentTarget as HTMLSelectElement).value);
    void reprioritiseJobs(request, { ids: [job.id] }, priority).then(onAct);
  };
  return (
    <label class={styles.label}>
      Priority
      <select class={styles.select} value={String(job.priority)} onChange={choose}>
        {choicesFor(identity.user.role, job.priority).map(({ priority, name }) => (
          <option key={priority} value={String(priority)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
