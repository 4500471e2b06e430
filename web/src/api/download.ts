/** A file that only somebody signed in may have: fetched with their token, then handed to the browser to be saved. */
import { hasCode, ProblemError, problemOfAnswer, UNREACHABLE } from "../kernel/problem";
import type { Tokens } from "./client";

export type Download = (path: string, fileName: string) => Promise<void>;

export function createDownload(tokens: Tokens): Download {
  return async (path, fileName) => {
    const token = await tokens.accessToken();
    try {
      save(await fetchFile(path, token), fileName);
    } catch (error) {
      if (!hasCode(error, "unauthenticated")) throw error;
      save(await fetchFile(path, await tokens.renew(token)), fileName);
    }
  };
}

async function fetchFile(path: string, token: string): Promise<Blob> {
  try {
    const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
    if (!response.ok) throw new ProblemError(problemOfAnswer(response.status, await refusal(response)));
    return await response.blob();
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError(UNREACHABLE, { cause: error });
  }
}

/** A proxy's error page is no JSON. */
async function refusal(response: Response): Promise<unknown> {
  return response.json().catch(() => null);
}

function save(content: Blob, fileName: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser reads it after this
}
