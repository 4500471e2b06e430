import { classes } from "../design/classes";
import styles from "./Curves.module.css";
import type { SessionDetail } from "./model";
import { ceilingOf, curveOf, meansOf, pathOf, placeOf, momentOf, type CurveName, type Stretch } from "./drawing";
import { formatFigure } from "./words";

interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly least: number;
  readonly lines: readonly { readonly name: string; readonly of: CurveName; readonly look: string | undefined }[];
  readonly before: "fpsBefore" | "jitterBefore";
  readonly after: "fpsAfter" | "jitterAfter";
}

const PLOTS: readonly Plot[] = [
  {
    title: "FPS",
    unit: "FPS",
    least: 10,
    lines: [
      { name: "Output", of: "outputFps", look: styles.first },
      { name: "Input", of: "inputFps", look: styles.second },
    ],
    before: "fpsBefore",
    after: "fpsAfter",
  },
  {
    title: "Jitter",
    unit: "ms",
    least: 5,
    lines: [{ name: "Jitter", of: "jitterMs", look: styles.third }],
    before: "jitterBefore",
    after: "jitterAfter",
  },
];

interface CurvesProps {
  readonly session: SessionDetail;
  readonly stretch: Stretch;
}

/** How it ran: frames and jitter, with the means around each change of parameters. */
export function Curves({ session, stretch }: CurvesProps) {
  return (
    <>
      {PLOTS.map((plot) => (
        <PlotRow key={plot.title} plot={plot} session={session} stretch={stretch} />
      ))}
    </>
  );
}

function PlotRow({ plot, session, stretch }: CurvesProps & { readonly plot: Plot }) {
  const lines = plot.lines.map((line) => ({ ...line, points: curveOf(session.timeline.samples, line.of, stretch) }));
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  if (values.length === 0) return null;
  const ceiling = ceilingOf(values, plot.least);
  const means = meansOf(session.parameterUpdates, stretch, plot);
  const changes = session.parameterUpdates.map(({ updateTs }) => placeOf(stretch, momentOf(updateTs)));
  return (
    <div class={styles.plot}>
      <div class={styles.side}>
        <span>{plot.title}</span>
        <ul class={styles.legend}>
          {lines.map(({ name, look, points }) => (
            <li key={name}>
              <span class={classes(styles.swatch, look)} />
              {name} <strong>{formatFigure(meanOf(points), "")}</strong>
            </li>
          ))}
        </ul>
      </div>
      <div class={styles.field} role="img" aria-label={wordsOf(plot, lines)}>
        <span class={styles.top}>{formatFigure(ceiling, plot.unit)}</span>
        <svg class={styles.curves} viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          {lines.map(({ name, look, points }) => (
            <path key={name} class={classes(styles.curve, look)} d={pathOf(points, ceiling)} />
          ))}
          {means.map((run, index) => (
            <path key={index} class={styles.mean} d={pathOf(run, ceiling)} />
          ))}
        </svg>
        {changes.map((at, index) =>
          at < 0 || at > 1 ? null : <span key={index} class={styles.change} style={{ "--at": `${at * 100}%` }} />,
        )}
      </div>
    </div>
  );
}

interface Valued {
  readonly name: string;
  readonly points: readonly { readonly value: number }[];
}

function meanOf(points: Valued["points"]): number | null {
  return points.length === 0 ? null : points.reduce((sum, { value }) => sum + value, 0) / points.length;
}

function wordsOf({ title, unit }: Plot, lines: readonly Valued[]): string {
  const said = lines
    .filter(({ points }) => points.length > 0)
    .map(({ name, points }) => {
      const values = points.map(({ value }) => value);
      const least = values.reduce((one, other) => Math.min(one, other));
      const most = values.reduce((one, other) => Math.max(one, other));
      return `${name} from ${formatFigure(least, unit)} to ${formatFigure(most, unit)}, mean ${formatFigure(meanOf(points), unit)}`;
    });
  return `${title} over time: ${said.join("; ")}`;
}
