import { Link } from "../app/Link";
import { PageTitle } from "../app/PageTitle";
import { useSource } from "../app/useSource";
import { useWorkspace } from "../app/workspace";
import { navigate } from "../app/router";
import { Choice } from "../design/Choice";
import { MoreRows } from "../design/MoreRows";
import { Notice, ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { SkeletonRows } from "../design/SkeletonRows";
import { formatBytes, plural } from "../kernel/format";
import { chosenOf, ORDERS, PLACES, storagePath, type Chosen } from "./address";
import { InstallationCard } from "./InstallationCard";
import { createStorageList, type StorageList } from "./list";
import { placesOf } from "./model";
import { PlaceBars } from "./PlaceBars";
import styles from "./StoragePage.module.css";
import { StoredRow } from "./StoredRow";
import { orderWords, placeWords } from "./words";

export function StoragePage({ query }: { readonly query: string }) {
  const { storageFeed, identity } = useWorkspace();
  const chosen = chosenOf(query);
  const list = useSource(storageFeed, (request, ends) => createStorageList(request, chosen, ends), [query]);
  const places = placesOf(list.shown.value?.storageTiers ?? []);
  const bytes = places.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return (
    <>
      <div class={styles.head}>
        <PageTitle name="Storage" class={styles.title} />
        <p class={styles.summary}>{places.length > 0 ? `${formatBytes(bytes)} in originals and clips` : "\u00a0"}</p>
      </div>
      <PlaceBars places={places} />
      {identity.user.role === "operator" && <InstallationCard />}
      <Bar chosen={chosen} />
      <Content chosen={chosen} list={list} />
    </>
  );
}

function Bar({ chosen }: { readonly chosen: Chosen }) {
  const { order } = chosen;
  return (
    <div class={styles.bar}>
      <nav class={styles.places} aria-label="Places">
        {[null, ...PLACES].map((place) => (
          <Link key={place} to={storagePath({ place, order })} class={styles.place} current={place === chosen.place}>
            {placeWords(place)}
          </Link>
        ))}
      </nav>
      <Choice
        label="Order"
        options={ORDERS}
        chosen={order}
        name={orderWords}
        onChoose={(next) => navigate(storagePath({ place: chosen.place, order: next }), { replace: true })}
      />
    </div>
  );
}

function Content({ chosen, list }: { readonly chosen: Chosen; readonly list: StorageList }) {
  const page = list.shown.value?.storedArtifactsConnection;
  const loading = list.loading.value;
  if (page === undefined) {
    if (loading.kind === "failed") return <ProblemNotice problem={loading.problem} onRetry={() => void list.load()} />;
    return <SkeletonRows count={6} label="Loading artifacts" />;
  }
  if (page.edges.length === 0) {
    return (
      <Notice icon="check" title="No artifacts">
        {chosen.place === null ? "Nothing is stored yet." : "No artifact is stored there."}
      </Notice>
    );
  }
  return (
    <section aria-label={placeWords(chosen.place)}>
      <p class={styles.count}>{plural(page.totalCount, "artifact")}</p>
      <ul class={look.list}>
        {page.edges.map(({ node }) => (
          <StoredRow key={node.artifactHash} stored={node} onAct={list.refresh} />
        ))}
      </ul>
      <MoreRows
        complete={!page.pageInfo.hasNextPage}
        count={page.edges.length}
        more={list.loading}
        onMore={() => void list.loadMore()}
      />
    </section>
  );
}
