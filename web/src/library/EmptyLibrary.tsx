import { Notice } from "../design/Notice";
import { UploadButton } from "../uploads/UploadButton";
import styles from "./EmptyLibrary.module.css";

export function EmptyLibrary({ mayUpload }: { readonly mayUpload: boolean }) {
  if (!mayUpload) {
    return (
      <Notice icon="film" title="No videos yet">
        Videos that someone in your tenant uploads appear here.
      </Notice>
    );
  }
  return (
    <div class={styles.empty}>
      <Notice icon="upload" title="Upload your first video" actions={<UploadButton />}>
        Drop files anywhere on this page, or choose them. You can watch them here as soon as they are processed.
      </Notice>
    </div>
  );
}
