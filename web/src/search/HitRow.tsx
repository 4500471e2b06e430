import { useEffect, useId, useRef } from "preact/hooks";
import { Link } from "../app/Link";
import { watchPath } from "../app/routes";
import { Age } from "../design/Age";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { look, Row } from "../design/Row";
import { HitFrame } from "./HitFrame";
import styles from "./HitRow.module.css";
import type { Hit } from "./model";
import { foundIn, languageName } from "./words";

interface HitRowProps {
  readonly hit: Hit;
  readonly selected: boolean;
  readonly onSelect: () => void;
  readonly onClip: ((hit: Hit) => void) | null;
}

/** The whole row plays the video from where the text appears; a title plays it from its start. */
export function HitRow({ hit, selected, onSelect, onClip }: HitRowProps) {
  const row = useRef<HTMLLIElement>(null);
  const factsId = useId();
  useEffect(() => {
    if (selected) row.current?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <Row element={row} class={classes(styles.row, selected && styles.selected)} onFocusIn={onSelect}>
      <HitFrame hit={hit} />
      <div class={classes(look.words, styles.words)}>
        <p class={styles.text} dir="auto">
          <Link to={watchPath(hit.vod.playbackId, hit.startMs)} class={look.title} aria-describedby={factsId}>
            <Fragments fragments={hit.fragments} />
          </Link>
        </p>
        <div id={factsId}>
          {hit.vod.title !== hit.text && <p class={styles.video}>{hit.vod.title}</p>}
          <p class={look.facts}>
            {foundIn(hit).map((fact) => (
              <span key={fact}>{fact}</span>
            ))}
            {hit.language !== null && <span>{languageName(hit.language)}</span>}
            <Age since={hit.videoCreatedAt} />
          </p>
        </div>
      </div>
      {onClip && hit.box !== null && (
        <Button
          icon="scissors"
          class={classes(look.above, styles.clip)}
          title="Create a clip (C)"
          aria-label={`Create a clip of ${hit.text}`}
          onClick={() => onClip(hit)}
        >
          Clip
        </Button>
      )}
    </Row>
  );
}

/** Put together again they are the text, whatever is in it: they are shown as text and as nothing else. */
function Fragments({ fragments }: Pick<Hit, "fragments">) {
  return fragments.map(({ text, matched }, index) => (matched ? <mark key={index}>{text}</mark> : text));
}
