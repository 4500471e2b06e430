import { useSignal } from "@preact/signals";
import { tellProblem } from "../app/messages";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { problemOf } from "../kernel/problem";
import { exportPath } from "./exporting";
import type { Question } from "./model";
import styles from "./Exports.module.css";

const FORMATS = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
] as const;

/** All rows of the question as a file, not only those that are shown. */
export function Exports({ question }: { readonly question: Question }) {
  const { download } = useWorkspace();
  const busy = useSignal(false);
  const save = async (format: "csv" | "parquet") => {
    busy.value = true;
    try {
      await download(exportPath(question, format, Date.now()), `sessions.${format}`);
    } catch (error) {
      tellProblem(problemOf(error));
    }
    busy.value = false;
  };
  return (
    <div class={styles.exports} role="group" aria-label="Export">
      {FORMATS.map(([format, name]) => (
        <Button key={format} icon="download" disabled={busy.value} onClick={() => void save(format)}>
          {name}
        </Button>
      ))}
    </div>
  );
}
