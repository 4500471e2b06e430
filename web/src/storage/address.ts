/** Which part of the storage is shown, as the address says it. Pure. */
import type { StoredFilter } from "../api/generated";
import { STORAGE_PATH } from "../app/routes";

export const PLACES = ["s3", "local", "pending", "deleted", "pinned"] as const;
export type Place = (typeof PLACES)[number];
export const ORDERS = ["ending", "largest"] as const;
export type Order = (typeof ORDERS)[number];

export interface Chosen {
  readonly place: Place | null;
  readonly order: Order;
}

export function chosenOf(query: string): Chosen {
  const parameters = new URLSearchParams(query);
  const place = PLACES.find((one) => one === parameters.get("place")) ?? null;
  const order = ORDERS.find((one) => one === parameters.get("order")) ?? "ending";
  return { place, order };
}

export function storagePath({ place, order }: Chosen): string {
  const parameters = new URLSearchParams();
  if (place !== null) parameters.set("place", place);
  if (order !== "ending") parameters.set("order", order);
  const query = parameters.toString();
  return query === "" ? STORAGE_PATH : `${STORAGE_PATH}?${query}`;
}

export function filterOf(place: Place | null): StoredFilter {
  if (place === null) return {};
  return place === "pinned" ? { pinned: true } : { location: place };
}
