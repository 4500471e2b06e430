import type { ComponentChildren } from "preact";
import { sentence, type Problem } from "../kernel/problem";

/** Text from the API, where `this` is something to type. */
export function Phrase({ text }: { readonly text: string }): ComponentChildren {
  const pieces = sentence(text).split("`");
  return pieces.map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece));
}

/** What went wrong and what to do next, as two sentences. */
export function ProblemText({ problem }: { readonly problem: Problem }) {
  return (
    <>
      <strong>
        <Phrase text={problem.message} />
      </strong>{" "}
      <Phrase text={problem.hint} />
    </>
  );
}
