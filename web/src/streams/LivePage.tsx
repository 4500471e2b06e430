import { useSignal } from "@preact/signals";
import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { navigate } from "../app/router";
import { streamPath } from "../app/routes";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";
import { Icon } from "../design/Icon";
import { Notice, ProblemNotice } from "../design/Notice";
import { now } from "../kernel/clock";
import { plural } from "../kernel/format";
import { StateChip } from "../library/StateChip";
import type { NewKey } from "./acts";
import { KeyDialog } from "./KeyDialog";
import styles from "./LivePage.module.css";
import { isPublished, type Stream } from "./model";
import { NewStreamDialog } from "./StreamDialog";
import { createWall, type Shown, type Wall } from "./wall";
import { healthLine, sinceWords, streamState } from "./words";

/** All streams, those that are live first. */
export function LivePage() {
  const { streamFeed, mayChange } = useWorkspace();
  const wall = useSource(streamFeed, createWall, []);
  const isCreating = useSignal(false);
  const made = useSignal<NewKey | null>(null);
  const shown = wall.shown.value;
  const create = () => (isCreating.value = true);
  return (
    <>
      <div class={styles.head}>
        <div>
          <PageTitle name="Live" class={styles.title} />
          <p class={styles.summary}>{shown === null ? "\u00a0" : summary(shown)}</p>
        </div>
        {mayChange && shown !== null && shown.streams.length > 0 && (
          <Button look="primary" icon="broadcast" onClick={create}>
            New stream
          </Button>
        )}
      </div>
      <Content wall={wall} onCreate={mayChange ? create : null} />
      {isCreating.value && (
        <NewStreamDialog
          onMade={(key) => {
            isCreating.value = false;
            made.value = key;
            wall.refresh();
          }}
          onClose={() => (isCreating.value = false)}
        />
      )}
      {made.value && (
        <KeyDialog
          made={made.value}
          onClose={() => {
            if (made.value) navigate(streamPath(made.value.streamId));
          }}
        />
      )}
    </>
  );
}

function summary({ streams, totalCount }: Shown): string {
  const live = streams.filter(isPublished).length;
  const all = plural(totalCount, "stream");
  const left = totalCount > streams.length ? `, the newest ${streams.length} are shown` : "";
  return `${all}, ${live === 0 ? "none" : live} live${left}`;
}

interface ContentProps {
  readonly wall: Wall;
  readonly onCreate: (() => void) | null;
}

function Content({ wall, onCreate }: ContentProps) {
  const loading = wall.loading.value;
  const shown = wall.shown.value;
  if (shown === null) {
    if (loading.kind === "failed") return <ProblemNotice problem={loading.problem} onRetry={() => void wall.load()} />;
    return (
      <div class={styles.wall} role="status" aria-label="Loading streams">
        {[1, 2, 3].map((place) => (
          <div key={place} class={styles.blank} />
        ))}
      </div>
    );
  }
  if (shown.streams.length === 0) return <NoStreams onCreate={onCreate} />;
  return (
    <ul class={styles.wall} aria-label="Streams">
      {shown.streams.map((stream) => (
        <StreamCard key={stream.streamId} stream={stream} readAt={shown.readAt} />
      ))}
    </ul>
  );
}

function NoStreams({ onCreate }: { readonly onCreate: (() => void) | null }) {
  if (onCreate === null) {
    return (
      <Notice icon="broadcast" title="No streams yet">
        Streams that someone in your tenant creates appear here.
      </Notice>
    );
  }
  return (
    <div class={styles.empty}>
      <Notice
        icon="broadcast"
        title="Broadcast your first match"
        actions={
          <Button look="primary" icon="broadcast" onClick={onCreate}>
            Create a stream
          </Button>
        }
      >
        <ol class={styles.steps}>
          <li>Create a stream. You get a server address and a stream key.</li>
          <li>Paste both into OBS (Settings, Stream, Custom) or any encoder that sends RTMP or SRT.</li>
          <li>Start streaming. It appears here within seconds, to watch, rewind, record and clip.</li>
        </ol>
      </Notice>
    </div>
  );
}

interface StreamCardProps {
  readonly stream: Stream;
  readonly readAt: number;
}

function StreamCard({ stream, readAt }: StreamCardProps) {
  const { streamId, title, posterUrl, health, problem } = stream;
  const isOn = isPublished(stream);
  return (
    <li class={styles.card}>
      <div class={styles.picture}>
        {posterUrl === null ? (
          <Icon name="broadcast" size={30} />
        ) : (
          <Picture key={posterUrl} address={posterUrl} readAt={readAt} />
        )}
      </div>
      <div class={styles.words}>
        <div class={styles.line}>
          <Link to={streamPath(streamId)} class={styles.name}>
            {title}
          </Link>
          <StateChip state={streamState(stream)} />
        </div>
        <p class={styles.facts}>{sinceWords(stream, now.value)}</p>
        {isOn && health !== null && <p class={styles.facts}>{healthLine(health)}</p>}
        {problem !== null && <p class={styles.problem}>The encoder was refused: {problem}</p>}
      </div>
    </li>
  );
}

/** The last picture stays until the next one is there. One that cannot be had is left out. */
function Picture({ address, readAt }: { readonly address: string; readonly readAt: number }) {
  const isGone = useSignal(false);
  return (
    <img
      class={styles.image}
      hidden={isGone.value}
      src={`${address}?at=${readAt}`}
      alt=""
      decoding="async"
      onError={() => (isGone.value = true)}
      onLoad={() => (isGone.value = false)}
    />
  );
}
