import { useEffect, useMemo } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { Age } from "../design/Age";
import { ProblemNotice } from "../design/Notice";
import { formatBytes, plural } from "../kernel/format";
import { createInstallation } from "./installation";
import styles from "./InstallationCard.module.css";
import type { StorageNode, TenantStorage } from "./model";

/** For operators: all tenants, and the machines that hold copies. */
export function InstallationCard() {
  const { request } = useWorkspace();
  const installation = useMemo(() => createInstallation(request), [request]);
  useEffect(() => void installation.load(), [installation]);
  const { kind } = installation.loading.value;
  if (installation.loading.value.kind === "failed")
    return <ProblemNotice problem={installation.loading.value.problem} onRetry={() => void installation.load()} />;
  const facts = installation.facts.value;
  if (facts === null) return <div class={styles.blank} role="status" aria-label="Loading" data-state={kind} />;
  return (
    <section class={styles.card} aria-label="The installation">
      <h2 class={styles.title}>All tenants</h2>
      <ul class={styles.lines}>
        {facts.storageByTenant.map((tenant) => (
          <Tenant key={tenant.tenantId} tenant={tenant} />
        ))}
      </ul>
      <h2 class={styles.title}>Nodes</h2>
      {facts.storageNodes.length === 0 && <p class={styles.quiet}>No node has registered yet.</p>}
      <ul class={styles.lines}>
        {facts.storageNodes.map((node) => (
          <Node key={node.nodeId} node={node} />
        ))}
      </ul>
    </section>
  );
}

function Tenant({
  tenant: { name, artifacts, sizeBytes, localBytes, deletedBytes },
}: {
  readonly tenant: TenantStorage;
}) {
  return (
    <li class={styles.line}>
      <strong>{name}</strong>
      <span>{formatBytes(sizeBytes)}</span>
      <span class={styles.quiet}>
        {plural(artifacts, "artifact")}, {formatBytes(localBytes)} on nodes, {formatBytes(deletedBytes)} deleted
      </span>
    </li>
  );
}

function Node({
  node: { nodeId, status, trouble, usedBytes, budgetBytes, lastSeenAt },
}: {
  readonly node: StorageNode;
}) {
  return (
    <li class={styles.line}>
      <strong>{nodeId}</strong>
      <span>{usedBytes === null ? "unknown" : formatBytes(usedBytes)}</span>
      <span class={styles.quiet}>
        {budgetBytes !== null && `of ${formatBytes(budgetBytes)}, `}
        {trouble ?? status}, seen <Age since={lastSeenAt} />
      </span>
    </li>
  );
}
