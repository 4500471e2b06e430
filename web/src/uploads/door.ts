/** What the upload asks of the API. */
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import {
  AbortUploadDocument,
  ArrivedPartsDocument,
  CompleteUploadDocument,
  CreateUploadDocument,
  PartAddressesDocument,
  VideoDocument,
} from "../api/generated";
import type { Video } from "../library/model";

export interface PartAddress {
  readonly number: number;
  readonly url: string;
}

export interface Ticket {
  readonly vod: Video;
  readonly partSizeBytes: number;
  readonly partCount: number;
  readonly parts: readonly PartAddress[];
}

export interface ArrivedParts {
  readonly partSizeBytes: number;
  readonly partCount: number;
  readonly arrived: readonly number[];
  readonly checksums: readonly string[]; // of the arrived ones, in the same order
}

export interface NewUpload {
  readonly idempotencyKey: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly contentType: string | null;
}

export interface UploadDoor {
  create(upload: NewUpload): Promise<Ticket>;
  addresses(artifactHash: string, numbers: readonly number[]): Promise<readonly PartAddress[]>;
  /** Null when there is no such upload, or none any more. */
  arrived(artifactHash: string): Promise<ArrivedParts | null>;
  /** With the checksum of every part, the first part's first. */
  complete(artifactHash: string, checksums: readonly string[]): Promise<Video>;
  abort(artifactHash: string): Promise<void>;
  find(artifactHash: string): Promise<Video | null>;
}

export function createUploadDoor(request: Request): UploadDoor {
  return {
    async create(input) {
      return expectAnswer((await request(CreateUploadDocument, { input })).createVodUpload, "UploadTicket");
    },
    async addresses(artifactHash, numbers) {
      const { uploadParts } = await request(PartAddressesDocument, { artifactHash, numbers });
      return expectAnswer(uploadParts, "UploadParts").parts;
    },
    arrived: async (artifactHash) => (await request(ArrivedPartsDocument, { artifactHash })).arrivedParts,
    async complete(artifactHash, checksums) {
      const { completeVodUpload } = await request(CompleteUploadDocument, { artifactHash, checksums });
      return expectAnswer(completeVodUpload, "VodPayload").vod;
    },
    async abort(artifactHash) {
      expectAnswer((await request(AbortUploadDocument, { artifactHash })).abortVodUpload, "DeletedVod");
    },
    find: async (artifactHash) => (await request(VideoDocument, { artifactHash })).vod,
  };
}
