import "uplot/dist/uPlot.min.css";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type UPlot from "uplot";
import { theme } from "../app/theme";
import { classes } from "../design/classes";
import { formatSpan } from "../kernel/format";
import styles from "./DepthChart.module.css";
import type { Chart, Metric } from "./series";
import { JOB_TYPES, typeWords } from "./words";

interface DepthChartProps {
  readonly chart: Chart;
  readonly metric: Metric;
  readonly label: string;
}

const HEIGHT = 190;
const COLOURS = [styles.first, styles.second, styles.third, styles.fourth, styles.fifth];
const SECOND_STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const hourMinute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The figures stand beside it in words: of the moment that is pointed at, otherwise of now. */
export function DepthChart({ chart, metric, label }: DepthChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const pointed = useSignal<number | null>(null);
  const dark = useDarkness();
  useEffect(() => {
    if (host.current === null) return undefined;
    return draw(host.current, chart, metric, (index) => (pointed.value = index));
  }, [chart, metric, theme.value, dark]);
  const index = pointed.value ?? chart.times.length - 1;
  const time = chart.times[index] ?? 0;
  return (
    <div>
      <div ref={host} class={styles.plot} role="img" aria-label={`${label}, over time`}>
        <span class={styles.axis} data-role="axis" />
        <span class={styles.grid} data-role="grid" />
      </div>
      <ul class={styles.legend} aria-label={label}>
        <li class={styles.time}>{pointed.value === null ? "Now" : hourMinute.format(time * 1000)}</li>
        {chart.lines.map(({ jobType, values }) => (
          <li key={jobType}>
            <span class={classes(styles.swatch, colourOf(jobType))} data-line={jobType} />
            {typeWords(jobType)} <strong>{figure(metric, values[index] ?? 0)}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}

function figure(metric: Metric, value: number): string {
  return metric === "oldestSeconds" ? formatSpan(value) : value.toLocaleString("en");
}

function colourOf(jobType: string): string | undefined {
  const place = JOB_TYPES.findIndex((one) => one === jobType);
  return COLOURS[(place + COLOURS.length) % COLOURS.length];
}

/** The canvas knows no tokens: what is drawn is drawn again when they change. */
function useDarkness(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const dark = useSignal(query.matches);
  useEffect(() => {
    const onChange = () => (dark.value = query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return dark.value;
}

/** The library comes with the first chart. */
function draw(host: HTMLElement, chart: Chart, metric: Metric, onPoint: (index: number | null) => void): () => void {
  let plot: UPlot | null = null;
  let over = false;
  const resize = new ResizeObserver(() => plot?.setSize({ width: host.clientWidth, height: HEIGHT }));
  void import("uplot").then(({ default: Plot }) => {
    if (over) return;
    plot = new Plot(optionsOf(host, chart, metric, onPoint), dataOf(chart), host);
    resize.observe(host);
  });
  return () => {
    over = true;
    resize.disconnect();
    plot?.destroy();
  };
}

function dataOf({ times, lines }: Chart): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => [...values])];
}

function optionsOf(
  host: HTMLElement,
  chart: Chart,
  metric: Metric,
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const look = (selector: string) => {
    const found = host.parentElement?.querySelector(selector);
    return found ? getComputedStyle(found).color : "currentColor";
  };
  const axis = {
    stroke: look('[data-role="axis"]'),
    grid: { stroke: look('[data-role="grid"]'), width: 1 },
    ticks: { show: false },
  };
  const isAge = metric === "oldestSeconds";
  return {
    width: host.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, highest) => [0, Math.max(highest * 1.1, isAge ? 10 : 4)] } },
    axes: [
      { ...axis, size: 28, values: (_, splits) => splits.map((time) => hourMinute.format(time * 1000)) },
      {
        ...axis,
        size: 56,
        incrs: isAge ? SECOND_STEPS : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000],
        values: (_, splits) => splits.map((value) => figure(metric, value)),
      },
    ],
    series: [
      {},
      ...chart.lines.map(({ jobType }) => ({
        label: typeWords(jobType),
        stroke: look(`[data-line="${CSS.escape(jobType)}"]`),
        width: 2,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}
