import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Choice } from "../design/Choice";
import { classes } from "../design/classes";
import { tickPlace } from "./Columns";
import { Curves } from "./Curves";
import type { SessionDetail } from "./model";
import { stops } from "./stops";
import styles from "./Timeline.module.css";
import {
  lanesOf,
  offsetTicks,
  sinceStart,
  startStretch,
  wholeStretch,
  type Lane,
  type Mark,
  type Stretch,
} from "./drawing";
import { useTicks } from "./useTicks";

const LEAST_ROOM = 0.12;
const LEAST_ROOM_NARROW = 0.35;
const STRETCHES = ["whole", "start"] as const;
const STRETCH_NAMES = { whole: "Whole session", start: "Start" };

/** The session drawn: what happened where, who served it, how it ran. The same is said in words below it. */
export function Timeline({ session }: { readonly session: SessionDetail }) {
  const shown = useSignal<"whole" | "start">("whole");
  const pointed = useSignal("");
  const ticks = useTicks(9, 4);
  const start = useMemo(() => startStretch(session), [session]);
  const stretch = (shown.value === "start" ? start : null) ?? wholeStretch(session);
  const lanes = useMemo(() => lanesOf(session, stretch), [session, stretch.from, stretch.to]);
  return (
    <div class={styles.card}>
      {start !== null && (
        <Choice
          label="Part"
          options={STRETCHES}
          chosen={shown.value}
          name={(one) => STRETCH_NAMES[one]}
          onChoose={(one) => (shown.value = one)}
        />
      )}
      <div class={styles.lanes} role="group" aria-label="Timeline" {...stops}>
        {lanes.map((lane, index) => (
          <LaneRow
            key={`${lane.name} ${lane.title}`}
            lane={lane}
            stretch={stretch}
            isFirst={index === firstStop(lanes)}
            onPoint={(text) => (pointed.value = text)}
          />
        ))}
      </div>
      <Curves session={session} stretch={stretch} />
      <div class={styles.axis} aria-hidden="true">
        {offsetTicks(stretch, ticks).map(({ at, text }) => (
          <span key={at} class={styles.tick} style={tickPlace(at)}>
            {text}
          </span>
        ))}
      </div>
      <p class={styles.pointed} role="status">
        {pointed.value || (session.timeline.truncated ? "There are more events than can be drawn here." : "\u00a0")}
      </p>
    </div>
  );
}

/** The lane with the first thing that can be pointed at. */
function firstStop(lanes: readonly Lane[]): number {
  return lanes.findIndex(({ marks, pieces }) => marks.length + pieces.length > 0);
}

/** What a mark means, beside it, where there is room for some words. */
function MarkLabel({ mark }: { readonly mark: Mark }) {
  if (mark.room < LEAST_ROOM) return null;
  return (
    <span
      class={classes(styles.label, mark.room < LEAST_ROOM_NARROW && styles.wide)}
      style={{ "--at": `${mark.at * 100}%`, "--length": `${mark.room * 100}%` }}
      aria-hidden="true"
    >
      {mark.text}
    </span>
  );
}

interface LaneRowProps {
  readonly lane: Lane;
  readonly stretch: Stretch;
  readonly isFirst: boolean;
  readonly onPoint: (text: string) => void;
}

function LaneRow({ lane, stretch, isFirst, onPoint }: LaneRowProps) {
  const things = [
    ...lane.pieces.map((piece) => ({
      key: `piece ${piece.segment.segmentIndex}`,
      look: classes(styles.piece, piece.isOpen && styles.open),
      place: { "--at": `${piece.from * 100}%`, "--length": `${(piece.to - piece.from) * 100}%` },
      text: piece.text,
      shown: piece.segment.modelId ?? `Segment ${piece.segment.segmentIndex + 1}`,
    })),
    ...lane.marks.map((mark, index) => ({
      key: `mark ${index}`,
      look: classes(styles.mark, styles[mark.kind]),
      place: { "--at": `${mark.at * 100}%` },
      text: `${sinceStart(mark.ts, stretch.from)} · ${lane.name}: ${mark.text}`,
      shown: null,
    })),
  ];
  return (
    <div class={styles.lane}>
      <span class={styles.name} title={lane.title}>
        {lane.name}
      </span>
      <div class={styles.track}>
        {things.map(({ key, look, place, text, shown }, index) => (
          <button
            key={key}
            type="button"
            class={look}
            style={place}
            tabIndex={isFirst && index === 0 ? 0 : -1}
            aria-label={text}
            title={text}
            onFocus={() => onPoint(text)}
            onPointerEnter={() => onPoint(text)}
          >
            {shown && <span class={styles.words}>{shown}</span>}
          </button>
        ))}
        {lane.marks.map((mark, index) => (
          <MarkLabel key={index} mark={mark} />
        ))}
      </div>
    </div>
  );
}
