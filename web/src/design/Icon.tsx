/** Line icons on a 24 grid. They are decoration: whatever they mean is also said in words. */

const PATHS = {
  alert: "M12 8v5M12 16.5v.01M10.3 3.9 2.6 17.4A2 2 0 0 0 4.3 20.4h15.4a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z",
  ball: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 8.2l3.6 2.6-1.4 4.2H9.8l-1.4-4.2ZM12 3v5.2M20.5 9.2l-4.9 1.6M17.2 19.3l-3-4.3M6.8 19.3l3-4.3M3.5 9.2l4.9 1.6",
  broadcast:
    "M12 10.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4ZM8.2 15.8a5.4 5.4 0 0 1 0-7.6M15.8 8.2a5.4 5.4 0 0 1 0 7.6M5.4 18.6a9.3 9.3 0 0 1 0-13.2M18.6 5.4a9.3 9.3 0 0 1 0 13.2",
  captions: "M4 5h16v14H4zM7.5 15h5M15 15h1.5M7.5 11.5h2M12 11.5h4.5",
  chart: "M4 20h16M7 16.5v-5M12 16.5v-10M17 16.5v-7",
  check: "m5 12.5 4.5 4.5L19 7.5",
  close: "M6 6l12 12M18 6 6 18",
  chevron: "m6 9 6 6 6-6",
  disk: "M4.5 6.5c0-1.7 3.4-3 7.5-3s7.5 1.3 7.5 3-3.4 3-7.5 3-7.5-1.3-7.5-3ZM4.5 6.5v11c0 1.7 3.4 3 7.5 3s7.5-1.3 7.5-3v-11M4.5 12c0 1.7 3.4 3 7.5 3s7.5-1.3 7.5-3",
  download: "M12 4.5V16M7 11.5l5 5 5-5M4.5 15.5v2.7a1.8 1.8 0 0 0 1.8 1.8h11.4a1.8 1.8 0 0 0 1.8-1.8v-2.7",
  film: "M4 5h16v14H4zM9 5v14M15 5v14M4 9.7h5M4 14.3h5M15 9.7h5M15 14.3h5",
  filter: "M4 6.5h16M7 12h10M10 17.5h4",
  fullscreen: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  fullscreenExit: "M9 4v5H4M15 4v5h5M9 20v-5H4M15 20v-5h5",
  leave: "M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4M10 16l-4-4 4-4M6 12h9",
  link: "M10 14a4.5 4.5 0 0 0 6.4 0l3-3A4.5 4.5 0 0 0 13 4.6l-1.2 1.2M14 10a4.5 4.5 0 0 0-6.4 0l-3 3A4.5 4.5 0 0 0 11 19.4l1.2-1.2",
  list: "M9 6.5h11M9 12h11M9 17.5h11M4.5 6.5v.01M4.5 12v.01M4.5 17.5v.01",
  moon: "M20 14.2A8.2 8.2 0 0 1 9.8 4 8.2 8.2 0 1 0 20 14.2Z",
  pin: "M9 4h6l-.8 6 2.8 2.6V15H7v-2.4L9.8 10ZM12 15v5.5",
  replay: "M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5",
  scissors:
    "M6 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM6 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8 7.5 20 17M8 16.5 20 7",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.3 15.3 20 20",
  screen: "M4 5h16v11H4zM9 20h6M12 16v4",
  share:
    "M18 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM6 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM18 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8.2 10.8l7.6-3.6M8.2 13.2l7.6 3.6",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.8v2M12 19.2v2M2.8 12h2M19.2 12h2M5.5 5.5l1.4 1.4M17.1 17.1l1.4 1.4M5.5 18.5l1.4-1.4M17.1 6.9l1.4-1.4",
  trash:
    "M4.5 7h15M9.5 7V4.5h5V7M6.5 7l.8 12a1.5 1.5 0 0 0 1.5 1.4h6.4a1.5 1.5 0 0 0 1.5-1.4l.8-12M10 11v5.5M14 11v5.5",
  upload: "M12 16V4.5M7 9l5-5 5 5M4.5 15.5v2.7a1.8 1.8 0 0 0 1.8 1.8h11.4a1.8 1.8 0 0 0 1.8-1.8v-2.7",
  volume: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5ZM15.5 9a4.2 4.2 0 0 1 0 6M18 6.5a7.8 7.8 0 0 1 0 11",
  volumeOff: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5ZM16 9.5l5 5M21 9.5l-5 5",
} as const;

const SHAPES = {
  captionsOn: "M3 4h18v16H3zM6.5 14v2h6v-2zM14 14v2h3.5v-2zM6.5 10.5v2h3v-2zM11 10.5v2h6.5v-2z",
  record: "M12 6a6 6 0 1 0 0 12 6 6 0 0 0 0-12Z",
  stop: "M6.5 6.5h11v11h-11z",
  play: "M8 5.3v13.4c0 .8.9 1.3 1.6.9l10.6-6.7c.6-.4.6-1.4 0-1.8L9.6 4.4c-.7-.4-1.6.1-1.6.9Z",
  pause: "M7 4.5h3.2v15H7zM13.8 4.5H17v15h-3.2z",
} as const;

export type IconName = keyof typeof PATHS | keyof typeof SHAPES;

export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  const isShape = name in SHAPES;
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill={isShape ? "currentColor" : "none"}
      stroke={isShape ? "none" : "currentColor"}
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      fill-rule="evenodd"
      aria-hidden="true"
      focusable="false"
    >
      <path d={isShape ? SHAPES[name as keyof typeof SHAPES] : PATHS[name as keyof typeof PATHS]} />
    </svg>
  );
}
