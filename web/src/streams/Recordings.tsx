import { Link } from "../app/Link";
import { watchPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { Phrase } from "../design/Phrase";
import { look, Row } from "../design/Row";
import { formatBytes, formatDuration, plural } from "../kernel/format";
import { StateChip } from "../library/StateChip";
import { stopRecording } from "./acts";
import { runningOf, type Recording } from "./model";
import styles from "./Recordings.module.css";
import { recordingState } from "./words";

interface RecordingsProps {
  readonly recordings: readonly Recording[];
  readonly count: number;
  readonly onAct: () => void;
}

export function Recordings({ recordings, count, onAct }: RecordingsProps) {
  const running = runningOf(recordings);
  if (recordings.length === 0) return null;
  return (
    <section class={styles.recordings} aria-labelledby="recordings">
      <h2 id="recordings">
        Recordings <span class={styles.count}>{plural(count, "recording")}</span>
      </h2>
      <ul class={look.list}>
        {recordings.map((recording) => (
          <RecordingRow key={recording.dvrHash} recording={recording} onAct={recording === running ? onAct : null} />
        ))}
      </ul>
    </section>
  );
}

interface RecordingRowProps {
  readonly recording: Recording;
  /** Null: there is nothing to stop. */
  readonly onAct: (() => void) | null;
}

function RecordingRow({ recording, onAct }: RecordingRowProps) {
  const { request, mayChange } = useWorkspace();
  const { title, playbackId, createdAt, durationMs, sizeBytes, status, errorMessage } = recording;
  return (
    <Row class={styles.row}>
      <div class={look.words}>
        <Link to={watchPath(playbackId)} class={look.title}>
          {title}
        </Link>
        <p class={look.facts}>
          <span>
            begun <Age since={createdAt} />
          </span>
          {durationMs !== null && <span>{formatDuration(durationMs)}</span>}
          {sizeBytes !== null && <span>{formatBytes(sizeBytes)}</span>}
        </p>
        {status === "failed" && (
          <p class={look.failure}>
            <Phrase text={errorMessage ?? "Nothing could be recorded"} />
          </p>
        )}
      </div>
      <StateChip state={recordingState(recording)} />
      {mayChange && onAct !== null && (
        <div class={look.above}>
          <Button icon="stop" onClick={() => void stopRecording(request, recording).then(onAct)}>
            Stop
          </Button>
        </div>
      )}
    </Row>
  );
}
