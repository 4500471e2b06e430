import { useComputed, useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";
import { PageTitle } from "../app/PageTitle";
import { useWorkspace } from "../app/workspace";
import { ClipList } from "../clips/ClipList";
import { MoreRows } from "../design/MoreRows";
import { ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { SkeletonRows } from "../design/SkeletonRows";
import { percentOf, plural } from "../kernel/format";
import { DropArea } from "../uploads/DropArea";
import { UploadButton } from "../uploads/UploadButton";
import { DeleteDialog } from "./DeleteDialog";
import { EmptyLibrary } from "./EmptyLibrary";
import styles from "./LibraryPage.module.css";
import type { Video } from "./model";
import { VideoRow } from "./VideoRow";

export function LibraryPage() {
  const { library, mayChange } = useWorkspace();
  const count = library.totalCount.value;
  return (
    <DropArea enabled={mayChange}>
      <div class={styles.head}>
        <div>
          <PageTitle name="Library" class={styles.title} />
          <p class={styles.count}>{count > 0 ? plural(count, "video") : "\u00a0"}</p>
        </div>
        {mayChange && count > 0 && <UploadButton />}
      </div>
      <Content />
      <ClipList />
    </DropArea>
  );
}

function Content() {
  const { library, mayChange } = useWorkspace();
  const { videos, first } = library;
  if (videos.value.length > 0) return <Rows />;
  if (first.value.kind === "loading") return <SkeletonRows count={6} label="Loading videos" picture="poster" />;
  if (first.value.kind === "failed") {
    return <ProblemNotice problem={first.value.problem} onRetry={() => void library.loadFirst()} />;
  }
  return <EmptyLibrary mayUpload={mayChange} />;
}

function Rows() {
  const { library, uploads, mayChange } = useWorkspace();
  const doomed = useSignal<Video | null>(null);
  const askToDelete = useCallback((video: Video) => (doomed.value = video), []);
  const isUncertain = library.videos.value.some(({ lifecycleKnown }) => !lifecycleKnown);
  const sent = useComputed(() => {
    const running = uploads.queue.value.filter(({ phase }) => phase === "sending");
    return new Map(running.map((upload) => [upload.artifactHash, percentOf(upload.sentBytes, upload.sizeBytes)]));
  });
  return (
    <>
      {isUncertain && (
        <p class={styles.uncertain} role="status">
          The state of some videos is unknown at the moment. It appears as soon as the service responds again.
        </p>
      )}
      <ul class={look.list}>
        {library.videos.value.map((video) => (
          <VideoRow
            key={video.artifactHash}
            video={video}
            sentPercent={sent.value.get(video.artifactHash) ?? null}
            onDelete={mayChange ? askToDelete : null}
          />
        ))}
      </ul>
      <MoreRows
        complete={library.complete.value}
        count={library.videos.value.length}
        more={library.more}
        onMore={() => void library.loadMore()}
      />
      {doomed.value && <DeleteDialog video={doomed.value} onClose={() => (doomed.value = null)} />}
    </>
  );
}
