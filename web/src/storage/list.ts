/** One part of the storage: its sums and its artifacts, read again when an event says that something has moved. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { StorageDocument, type StorageQuery } from "../api/generated";
import type { Loading } from "../kernel/loading";
import { problemOf } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { StorageListener } from "../live/feed";
import { filterOf, type Chosen } from "./address";

export interface StorageList extends StorageListener {
  readonly shown: ReadonlySignal<StorageQuery | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
  readonly refresh: () => void;
}

const PAGE_SIZE = 50;
const MOST = 500;

export function createStorageList(request: Request, { place, order }: Chosen, ends: AbortSignal): StorageList {
  const shown = signal<StorageQuery | null>(null);
  const loading = signal<Loading>({ kind: "loading" });
  let wanted = PAGE_SIZE;

  /** All that is shown, once more: artifacts come and go in the middle of it. */
  async function read(): Promise<void> {
    shown.value = await request(StorageDocument, { page: { first: wanted }, filter: filterOf(place), order });
    loading.value = { kind: "idle" };
  }

  async function load(): Promise<void> {
    loading.value = { kind: "loading" };
    try {
      await read();
    } catch (error) {
      loading.value = { kind: "failed", problem: problemOf(error) };
    }
  }

  const refresh = createRefresh({ read, wait, ends });
  return {
    shown,
    loading,
    load,
    refresh,
    async loadMore() {
      wanted = Math.min(wanted + PAGE_SIZE, MOST);
      await load();
    },
    onEvent: refresh,
    onGap: refresh,
  };
}
