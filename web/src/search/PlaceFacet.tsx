import { placeOf, withPlace } from "./address";
import type { PlaceCount, Question, Where } from "./model";
import styles from "./PlaceFacet.module.css";
import { PLACE_NAMES, PLACES_SHOWN, placeCountText } from "./words";

interface PlaceFacetProps {
  /** Empty while they are counted. */
  readonly places: readonly PlaceCount[];
  readonly question: Question;
  readonly onChange: (question: Question) => void;
}

/** Where the words were found, and how often; a press shows only that. */
export function PlaceFacet({ places, question, onChange }: PlaceFacetProps) {
  const chosen = placeOf(question);
  const choose = (place: Where | null) => () => onChange(withPlace(question, place));
  return (
    <div class={styles.facet} role="group" aria-label="Found in">
      <Place name="Everywhere" isChosen={chosen === null} onChoose={choose(null)} />
      {PLACES_SHOWN.map((place) => {
        const counted = places.find(({ where }) => where === place);
        return (
          <Place
            key={place}
            name={PLACE_NAMES[place]}
            count={counted && placeCountText(counted)}
            isChosen={chosen === place}
            disabled={counted?.count === 0 && chosen !== place}
            onChoose={choose(place)}
          />
        );
      })}
    </div>
  );
}

interface PlaceProps {
  readonly name: string;
  readonly count?: string | undefined;
  readonly isChosen: boolean;
  readonly disabled?: boolean;
  readonly onChoose: () => void;
}

function Place({ name, count, isChosen, disabled, onChoose }: PlaceProps) {
  return (
    <button type="button" class={styles.place} aria-pressed={isChosen} disabled={disabled} onClick={onChoose}>
      {name} {count !== undefined && <span class={styles.count}>{count}</span>}
    </button>
  );
}
