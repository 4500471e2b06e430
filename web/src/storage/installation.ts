/** What belongs to no tenant: sums of all of them, and the nodes. Read once; it is an overview. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { InstallationDocument, type InstallationQuery } from "../api/generated";
import type { Loading } from "../kernel/loading";
import { problemOf } from "../kernel/problem";

export interface Installation {
  readonly facts: ReadonlySignal<InstallationQuery | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
}

export function createInstallation(request: Request): Installation {
  const facts = signal<InstallationQuery | null>(null);
  const loading = signal<Loading>({ kind: "loading" });
  return {
    facts,
    loading,
    async load() {
      loading.value = { kind: "loading" };
      try {
        facts.value = await request(InstallationDocument, {});
        loading.value = { kind: "idle" };
      } catch (error) {
        loading.value = { kind: "failed", problem: problemOf(error) };
      }
    },
  };
}
