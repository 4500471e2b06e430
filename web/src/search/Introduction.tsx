import { Icon } from "../design/Icon";
import { Link } from "../app/Link";
import { questionOf, searchPath } from "./address";
import styles from "./Introduction.module.css";

const EXAMPLES: readonly (readonly [write: string, find: string])[] = [
  ["sørensen harrowmere", "both words, in any order"],
  ['"kingsfold city"', "these words next to each other"],
  ["harrow*", "every word that starts like this"],
  ["harrowmere -ashdown", "the first word without the second"],
  ["player:sørensen", "goals of a player; team: and match: work the same way"],
  ["where:match rovers", "only in match facts; also where:title and where:picture"],
];

const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ["/", "Go to search"],
  ["↑ / ↓", "Next or previous result"],
  ["Enter", "Play the result"],
  ["C", "Create a clip"],
];

/** Before anything was asked: what can be. */
export function Introduction() {
  return (
    <div class={styles.introduction}>
      <div class={styles.icon}>
        <Icon name="search" size={28} />
      </div>
      <h2 class={styles.title}>Find videos, and moments in them</h2>
      <p class={styles.text}>
        Search titles, teams and players, and the text on screen: captions, scores, clocks, banners. Case, accents,
        look-alike letters (O and 0) and a missing space make no difference. These examples find something in the demo.
      </p>
      <dl class={styles.examples}>
        {EXAMPLES.map(([write, find]) => (
          <div key={write}>
            <dt>
              <Link to={searchPath({ ...questionOf(""), text: write })}>
                <code>{write}</code>
              </Link>
            </dt>
            <dd>{find}</dd>
          </div>
        ))}
      </dl>
      <dl class={styles.keys}>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
