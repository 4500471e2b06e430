import { watchPath } from "../app/routes";
import { tell, tellProblem } from "../app/messages";
import { Age } from "../design/Age";
import { Button, DownloadLink } from "../design/Button";
import { now } from "../kernel/clock";
import { formatBytes, formatDate, formatDuration, formatUntil } from "../kernel/format";
import { VideoStages } from "../jobs/VideoStages";
import type { Video } from "../library/model";
import { SHORTCUT_LEGEND } from "./shortcuts";
import styles from "./VideoFacts.module.css";
import type { Playback } from "./watch";

interface VideoFactsProps {
  readonly playback: Playback;
  readonly video: Video | undefined;
}

export function VideoFacts({ playback, video }: VideoFactsProps) {
  return (
    <div class={styles.below}>
      <dl class={styles.facts}>
        {playback.durationMs !== null && <Fact name="Length">{formatDuration(playback.durationMs)}</Fact>}
        {video && <FileFacts video={video} />}
      </dl>
      <div class={styles.actions}>
        <Button icon="link" onClick={() => void copyLink(playback.playbackId)}>
          Copy link
        </Button>
        {playback.downloadUrl !== null && (
          <DownloadLink icon="download" href={playback.downloadUrl}>
            Download clip
          </DownloadLink>
        )}
      </div>
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

/** Browsers give the clipboard only to pages that are served securely. */
async function copyLink(playbackId: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.origin + watchPath(playbackId));
    tell("The link was copied.");
  } catch {
    tellProblem({
      code: "forbidden",
      message: "This browser does not let the page copy",
      hint: "Copy the address from the address bar: it is the link.",
    });
  }
}
