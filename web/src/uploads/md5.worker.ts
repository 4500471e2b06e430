/** Runs in a worker: the MD5 of a part, read in pieces, so that neither the page nor the memory notices. */
import { createMD5 } from "hash-wasm";

export interface ChecksumRequest {
  readonly id: number;
  readonly bytes: Blob;
}

/** Without a checksum the bytes could not be read: the file was moved or changed. */
export interface ChecksumAnswer {
  readonly id: number;
  readonly checksum: string | null;
}

const PIECE_BYTES = 4 * 1024 * 1024;

onmessage = async ({ data: { id, bytes } }: MessageEvent<ChecksumRequest>) => {
  const checksum = await checksumOf(bytes).catch(() => null);
  postMessage({ id, checksum } satisfies ChecksumAnswer);
};

async function checksumOf(bytes: Blob): Promise<string> {
  const digest = await createMD5();
  digest.init();
  for (let start = 0; start < bytes.size; start += PIECE_BYTES) {
    const piece = await bytes.slice(start, start + PIECE_BYTES).arrayBuffer();
    digest.update(new Uint8Array(piece));
  }
  return digest.digest("hex");
}
