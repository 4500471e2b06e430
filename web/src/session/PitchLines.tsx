/** A football pitch from above, in the laws' proportions (105 by 68 metres, a unit each), portrait. */
export function PitchLines() {
  return (
    <svg
      viewBox="-2 -2 72 109"
      fill="none"
      stroke="currentColor"
      stroke-width="0.5"
      preserveAspectRatio="xMidYMid slice"
    >
      <path d="M0 0h68v105H0zM0 52.5h68" />
      <circle cx="34" cy="52.5" r="9.15" />
      <path d="M13.84 0v16.5h40.32V0M24.84 0v5.5h18.32V0" />
      <path d="M13.84 105V88.5h40.32V105M24.84 105v-5.5h18.32v5.5" />
      <path d="M26.69 16.5a9.15 9.15 0 0 0 14.62 0M26.69 88.5a9.15 9.15 0 0 1 14.62 0" />
      <path d="M0 1a1 1 0 0 0 1-1M67 0a1 1 0 0 0 1 1M0 104a1 1 0 0 1 1 1M67 105a1 1 0 0 1 1-1" />
      <g fill="currentColor" stroke="none">
        <circle cx="34" cy="52.5" r="0.6" />
        <circle cx="34" cy="11" r="0.5" />
        <circle cx="34" cy="94" r="0.5" />
      </g>
    </svg>
  );
}
