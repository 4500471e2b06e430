import { Icon } from "../design/Icon";
import { Link } from "../app/Link";
import { questionOf, searchPath } from "./address";
import styles from "./Introduction.module.css";

const EXAMPLES: readonly (readonly [write: string, find: string])[] = [
  ["saka goal", "both words, anywhere in a text"],
  ['"full time"', "these words beside each other"],
  ["goal*", "every word that begins so"],
  ["goal -women", "without the second word"],
  ["#coyg", "a hashtag; @name finds a mention"],
  ["entity:score", "texts with a score"],
];

const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ["/", "To the search"],
  ["↑ / ↓", "From text to text"],
  ["Enter", "Play from there"],
  ["C", "Make a clip"],
];

/** Before anything was asked: what can be. */
export function Introduction() {
  return (
    <div class={styles.introduction}>
      <div class={styles.icon}>
        <Icon name="search" size={28} />
      </div>
      <h2 class={styles.title}>Find the moment by what it shows</h2>
      <p class={styles.text}>
        Captions, scores, clocks, banners: whatever was read in your videos. Accents, case and letters that look alike
        make no difference.
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
