/** One or two letters for a person. */
export function initialsOf(name: string, email: string): string {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0] ?? email];
  return chosen
    .map((word) => firstLetter(word ?? ""))
    .join("")
    .toUpperCase();
}

/** A whole letter, also where it takes more than one unit. */
function firstLetter(word: string): string {
  const point = word.codePointAt(0);
  return point === undefined ? "" : String.fromCodePoint(point);
}
