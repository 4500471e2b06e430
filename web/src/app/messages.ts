/** Short messages at the edge of the page. They leave by themselves, except to whoever is reading them. */
import { signal } from "@preact/signals";
import { sentence, type Problem } from "../kernel/problem";

export interface Toast {
  readonly id: number;
  readonly kind: "news" | "problem";
  readonly text: string;
  readonly hint: string;
  readonly link?: ToastLink | ToastAct | undefined;
}

/** Where to go on from here. */
export interface ToastLink {
  readonly to: string;
  readonly label: string;
}

/** What can be done about it. */
export interface ToastAct {
  readonly act: () => void;
  readonly label: string;
}

const MOST = 4;
let lastId = 0;

export const toasts = signal<readonly Toast[]>([]);

export function tell(text: string, link?: ToastLink | ToastAct): void {
  add({ kind: "news", text, hint: "", link });
}

export function tellProblem({ message, hint }: Problem): void {
  add({ kind: "problem", text: sentence(message), hint: sentence(hint) });
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Problems have more to read, and a link or button wants to be reached. */
export function shownForMs({ kind, link }: Toast): number {
  return kind === "problem" || link !== undefined ? 12_000 : 5_000;
}

function add(toast: Omit<Toast, "id">): void {
  lastId += 1;
  toasts.value = [...toasts.value, { ...toast, id: lastId }].slice(-MOST);
}
