import { useSignal } from "@preact/signals";
import { copyText } from "../app/clipboard";
import { watchPath } from "../app/routes";
import { Age } from "../design/Age";
import { Button, DownloadLink } from "../design/Button";
import { now } from "../kernel/clock";
import { formatBytes, formatDate, formatDuration, formatUntil } from "../kernel/format";
import { VideoStages } from "../jobs/VideoStages";
import type { Video } from "../library/model";
import { ShareDialog } from "../share/ShareDialog";
import { SHORTCUT_LEGEND } from "./shortcuts";
import styles from "./VideoFacts.module.css";
import type { Playback } from "./watch";

interface VideoFactsProps {
  readonly playback: Playback;
  readonly video: Video | undefined;
  /** As it is now. */
  readonly title: string;
}

const COPY_YOURSELF = "Copy the link from the address bar.";

export function VideoFacts({ playback, video, title }: VideoFactsProps) {
  const isSharing = useSignal(false);
  return (
    <div class={styles.below}>
      <dl class={styles.facts}>
        {playback.durationMs !== null && <Fact name="Length">{formatDuration(playback.durationMs)}</Fact>}
        {video && <FileFacts video={video} />}
      </dl>
      <div class={styles.actions}>
        <Button
          icon="link"
          onClick={() => void copyText(location.origin + watchPath(playback.playbackId), COPY_YOURSELF)}
        >
          Copy link
        </Button>
        <Button icon="share" onClick={() => (isSharing.value = true)}>
          Share
        </Button>
        {playback.downloadUrl !== null && (
          <DownloadLink icon="download" href={playback.downloadUrl}>
            Download clip
          </DownloadLink>
        )}
      </div>
      {isSharing.value && (
        <ShareDialog artifactHash={playback.artifactHash} title={title} onClose={() => (isSharing.value = false)} />
      )}
      <VideoStages artifactHash={playback.artifactHash} />
      <details class={styles.shortcuts}>
        <summary>Keyboard shortcuts</summary>
        <dl>
          {SHORTCUT_LEGEND.map(([keys, meaning]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  );
}

function FileFacts({ video }: { readonly video: Video }) {
  const { width, height, sizeBytes, createdAt, expiresAt, fileName } = video;
  return (
    <>
      {width !== null && height !== null && <Fact name="Picture">{`${width} × ${height}`}</Fact>}
      {sizeBytes !== null && <Fact name="Size">{formatBytes(sizeBytes)}</Fact>}
      <Fact name="Uploaded">
        <Age since={createdAt} />
      </Fact>
      {expiresAt !== null && (
        <Fact name="Expires">
          <time dateTime={expiresAt} title={formatDate(expiresAt)}>
            {formatUntil(expiresAt, now.value)}
          </time>
        </Fact>
      )}
      <Fact name="File">{fileName}</Fact>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
