/** Result unions: the one wanted answer, or a problem to show. */
import { ProblemError, type Problem } from "../kernel/problem";

interface Named {
  readonly __typename: string;
}

export function expectAnswer<Answer extends Named, Name extends Answer["__typename"]>(
  answer: Answer,
  name: Name,
): Extract<Answer, { readonly __typename: Name }> {
  if (isNamed(answer, name)) return answer;
  throw new ProblemError(asProblem(answer));
}

function isNamed<Answer extends Named, Name extends string>(
  answer: Answer,
  name: Name,
): answer is Extract<Answer, { readonly __typename: Name }> {
  return answer.__typename === name;
}

/** All error types of the schema share these fields; one that is newer than this page may lack them. */
function asProblem(answer: Named): Problem {
  const said = answer as Named & Partial<Problem>;
  return {
    code: said.code ?? "internal",
    message: said.message ?? "This page is out of date",
    hint: said.hint ?? "Reload the page.",
    retryAfterSeconds: said.retryAfterSeconds ?? null,
  };
}
