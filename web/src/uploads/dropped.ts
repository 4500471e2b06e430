/** What somebody dropped: files, and a count of what cannot be uploaded. */

export interface Dropped {
  readonly files: readonly File[];
  readonly folders: number;
}

/** A dropped folder looks like a small file; only its entry tells. */
export function readDrop(transfer: DataTransfer): Dropped {
  const items = [...transfer.items].filter(({ kind }) => kind === "file");
  const isFolder = (item: DataTransferItem) => item.webkitGetAsEntry()?.isDirectory ?? false;
  const files = items.filter((item) => !isFolder(item)).flatMap((item) => item.getAsFile() ?? []);
  return { files, folders: items.filter(isFolder).length };
}

/** Text and links are dragged about too. */
export function carriesFiles(transfer: DataTransfer | null): transfer is DataTransfer {
  return transfer?.types.includes("Files") ?? false;
}
