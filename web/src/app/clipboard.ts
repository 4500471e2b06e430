/** Copies for a person, and says whether it worked: browsers give the clipboard only to pages that are served securely. */
import { tell, tellProblem } from "./messages";

export async function copyText(text: string, otherwise: string, said = "The link was copied."): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(said);
  } catch {
    tellProblem({ code: "forbidden", message: "This browser does not let the page copy", hint: otherwise });
  }
}
