/** A question, as it stands in the address, and what was found. */
import type { HitFieldsFragment, SearchQuery } from "../api/generated";

export const SORTS = ["relevance", "recency", "confidence"] as const;
export type Sort = (typeof SORTS)[number];

/** Named as in the language of search and in the address. */
export const FILTERS = ["where", "entity", "lang", "min", "after", "before", "match", "team", "player"] as const;
export type FilterName = (typeof FILTERS)[number];
/** Those of the panel and the chips; where a text stands is chosen beside its count. */
export type ListedFilter = Exclude<FilterName, "where">;
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export interface Question {
  readonly text: string;
  readonly sort: Sort;
  readonly filters: Filters;
}

export type SearchPageAnswer = Extract<SearchQuery["search"], { readonly __typename: "SearchPage" }>;
export type Correction = SearchPageAnswer["corrections"][number];
export type PlaceCount = NonNullable<SearchPageAnswer["places"]>[number];
export type Box = NonNullable<HitFieldsFragment["box"]>;
export type Where = HitFieldsFragment["where"];
/** With its video: one that was deleted a moment ago is no hit any more. */
export type Hit = HitFieldsFragment & { readonly vod: NonNullable<HitFieldsFragment["vod"]> };
