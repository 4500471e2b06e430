/** What the queue says about itself. Pure. */
import { formatBytes, formatTimeLeft, percentOf, plural } from "../kernel/format";
import { isActive, isUnderWay, type Upload } from "./machine";

/** One line below the file's name; problems have their own. */
export function progressWords(upload: Upload): string {
  switch (upload.phase) {
    case "waiting":
      return `${formatBytes(upload.sizeBytes)} · queued`;
    case "preparing":
      return "Preparing …";
    case "sending":
      return sendingWords(upload);
    case "finishing":
      return "Checking the file …";
    case "cancelling":
      return "Cancelling …";
    case "done":
      return `${formatBytes(upload.sizeBytes)} · uploaded`;
    case "interrupted":
      return "Interrupted. Choose the same file again to continue.";
    case "failed":
      return "";
  }
}

function sendingWords({ sentBytes, sizeBytes, bytesPerSecond }: Upload): string {
  const words = [`${formatBytes(sentBytes)} of ${formatBytes(sizeBytes)}`];
  if (bytesPerSecond !== null && bytesPerSecond > 0) {
    words.push(`${formatBytes(bytesPerSecond)}/s`, formatTimeLeft(((sizeBytes - sentBytes) / bytesPerSecond) * 1000));
  }
  return words.join(" · ");
}

/** Null where a bar would say nothing. */
export function barOf(upload: Upload): { readonly percent: number | null } | null {
  if (!isActive(upload)) return null;
  return { percent: upload.phase === "sending" ? percentOf(upload.sentBytes, upload.sizeBytes) : null };
}

/** The queue as a whole, for its heading and for those who listen. */
export function summaryWords(queue: readonly Upload[]): string {
  const underWay = queue.filter(isUnderWay).length;
  const failed = queue.filter(({ phase }) => phase === "failed").length;
  if (underWay > 0) return `Uploading ${plural(underWay, "file")}`;
  if (failed > 0) return `${plural(failed, "upload")} failed`;
  if (queue.some(({ phase }) => phase === "interrupted")) return "Unfinished uploads";
  return `${plural(queue.length, "file")} uploaded`;
}

/** Over all files that are on their way. */
export function totalPercent(queue: readonly Upload[]): number {
  const underWay = queue.filter(isUnderWay);
  const sum = (size: (upload: Upload) => number) => underWay.reduce((total, upload) => total + size(upload), 0);
  return percentOf(
    sum(({ sentBytes }) => sentBytes),
    sum(({ sizeBytes }) => sizeBytes),
  );
}
