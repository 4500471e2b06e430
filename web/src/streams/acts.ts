/** What people do with streams. Each says whether it was done; what went wrong is shown. */
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import {
  CreateClipDocument,
  CreateStreamDocument,
  DeleteStreamDocument,
  RotateStreamKeyDocument,
  StartRecordingDocument,
  StopRecordingDocument,
  UpdateStreamDocument,
  type UpdateStreamInput,
} from "../api/generated";
import { tell, tellProblem } from "../app/messages";
import { watchPath } from "../app/routes";
import { randomId } from "../kernel/ids";
import { problemOf } from "../kernel/problem";
import type { Recording, Stream } from "./model";
import { clipTitle } from "./words";

export interface NewKey {
  readonly streamId: string;
  readonly title: string;
  readonly streamKey: string;
}

export const CLIP_SECONDS = 30;

export async function createStream(request: Request, title: string, record: boolean): Promise<NewKey | null> {
  return done(async () => {
    const input = { idempotencyKey: randomId(), title, record };
    const made = expectAnswer((await request(CreateStreamDocument, { input })).createStream, "StreamWithKey");
    return { streamId: made.stream.streamId, title, streamKey: made.streamKey ?? "" };
  });
}

export async function rotateKey(request: Request, { streamId, title }: Stream): Promise<NewKey | null> {
  return done(async () => {
    const made = expectAnswer((await request(RotateStreamKeyDocument, { streamId })).rotateStreamKey, "StreamWithKey");
    return { streamId, title, streamKey: made.streamKey ?? "" };
  });
}

export async function changeStream(request: Request, input: UpdateStreamInput, said: string): Promise<true | null> {
  return done(async () => {
    expectAnswer((await request(UpdateStreamDocument, { input })).updateStream, "Stream");
    tell(said);
    return true as const;
  });
}

export async function deleteStream(request: Request, { streamId, title }: Stream): Promise<true | null> {
  return done(async () => {
    expectAnswer((await request(DeleteStreamDocument, { streamId })).deleteStream, "DeletedStream");
    tell(`“${title}” was deleted. Its recordings and clips are kept.`);
    return true as const;
  });
}

export async function record(request: Request, { streamId, title }: Stream): Promise<true | null> {
  return done(async () => {
    expectAnswer((await request(StartRecordingDocument, { streamId })).startDvr, "DvrRecording");
    tell(`“${title}” is being recorded.`);
    return true as const;
  });
}

export async function stopRecording(request: Request, { dvrHash }: Recording): Promise<true | null> {
  return done(async () => {
    expectAnswer((await request(StopRecordingDocument, { dvrHash })).stopDvr, "DvrRecording");
    tell("The recording was stopped.");
    return true as const;
  });
}

/** The last seconds, while the stream goes on. */
export async function clipNow(request: Request, { streamId, title }: Stream): Promise<true | null> {
  return done(async () => {
    const range = { mode: "CLIP_NOW" as const, durationSeconds: CLIP_SECONDS };
    const input = { streamId, ...range, title: clipTitle(title, Date.now()), idempotencyKey: randomId() };
    const clip = expectAnswer((await request(CreateClipDocument, { input })).createClip, "Clip");
    tell(`The clip “${clip.title}” is being created.`, { to: watchPath(clip.playbackId), label: "Open it" });
    return true as const;
  });
}

async function done<Result>(act: () => Promise<Result>): Promise<Result | null> {
  try {
    return await act();
  } catch (error) {
    tellProblem(problemOf(error));
    return null;
  }
}
