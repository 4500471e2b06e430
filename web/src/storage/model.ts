/** What the storage page shows, as the API tells it. */
import type { InstallationQuery, StorageQuery, StoredArtifactQuery } from "../api/generated";

export type Tier = StorageQuery["storageTiers"][number];
export type Stored = StorageQuery["storedArtifactsConnection"]["edges"][number]["node"];
export type HistoryEvent = StoredArtifactQuery["serviceEventsConnection"]["edges"][number]["node"];
export type TenantStorage = InstallationQuery["storageByTenant"][number];
export type StorageNode = InstallationQuery["storageNodes"][number];

export interface PlaceTotal {
  readonly location: string;
  readonly artifacts: number;
  readonly sizeBytes: number;
}

/** Kinds of artifacts in one place are one line. The largest first. */
export function placesOf(tiers: readonly Tier[]): PlaceTotal[] {
  const places = new Map<string, PlaceTotal>();
  for (const { location, artifacts, sizeBytes } of tiers) {
    const known = places.get(location) ?? { location, artifacts: 0, sizeBytes: 0 };
    places.set(location, {
      location,
      artifacts: known.artifacts + artifacts,
      sizeBytes: known.sizeBytes + sizeBytes,
    });
  }
  return [...places.values()].sort((one, other) => other.sizeBytes - one.sizeBytes);
}
