/** What a person does with a stored artifact. */
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { PinArtifactDocument, UndeleteArtifactDocument } from "../api/generated";
import { tell, tellProblem } from "../app/messages";
import { problemOf } from "../kernel/problem";
import type { Stored } from "./model";

/** Whether it was done. */
export async function pin(request: Request, { artifactHash, title }: Stored, pinned: boolean): Promise<boolean> {
  try {
    const answer = await request(PinArtifactDocument, { artifactHash, pinned });
    expectAnswer(answer.updateArtifact, "UpdatedArtifact");
    tell(pinned ? `“${title}” is kept until it is unpinned.` : `“${title}” is no longer pinned.`);
    return true;
  } catch (error) {
    tellProblem(problemOf(error));
    return false;
  }
}

export async function undelete(request: Request, { artifactHash, title }: Stored): Promise<void> {
  try {
    expectAnswer((await request(UndeleteArtifactDocument, { artifactHash })).undeleteArtifact, "UndeletedArtifact");
    tell(`“${title}” was restored.`);
  } catch (error) {
    tellProblem(problemOf(error));
  }
}
