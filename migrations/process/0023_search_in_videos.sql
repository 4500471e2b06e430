-- A search within videos reads what these have, whatever statistics say. Of a tenant that came after the last ANALYZE all
-- indexes promise one row, and any of them might have been read from end to end: the order that is asked for, which only
-- the index of videos has, decides now.

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;

-- A page: the highest of an order below a place. There are two ways to it. By the words: fetch all that have them, sort; by
-- relevance band by band, the highest first, until the page is full. By the order: walk down and keep what has the words,
-- until the page is full. The first costs as much as there are matches, the second the less the more there are; a step
-- of it costs about a third. A walk that turns out to be long is given up: what is missing is found by the words.
-- The ways are fixed here: statistics that lie cannot change them. Sorting what nothing has sorted is the last resort, so a
-- walk follows its index. The conditions hold only numbers and quoted ids.
CREATE OR REPLACE FUNCTION process.search(request jsonb, sort text, most integer, below bigint, below_id uuid)
RETURNS TABLE (segment_id uuid, rank bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  in_videos CONSTANT text :=
    'SELECT f.segment_id, f.rank
       FROM (SELECT DISTINCT v.id FROM unnest($5) AS v (id)) AS v
      CROSS JOIN LATERAL (
        SELECT e.segment_id, e.%1$I AS rank FROM process.search_entries AS e
         WHERE (e.tenant_id, e.video_id) BETWEEN ($1, v.id) AND ($1, v.id) %2$s
         ORDER BY e.tenant_id, e.video_id OFFSET 0) AS f
      WHERE (f.rank, f.segment_id) < ($2, $3)
      ORDER BY f.rank DESC, f.segment_id DESC LIMIT $4';
  by_words CONSTANT text :=
    'SELECT f.segment_id, f.rank
       FROM unnest($5) AS b (band)
      CROSS JOIN LATERAL (
        SELECT f.segment_id, f.rank
          FROM (SELECT e.tenant_id, e.segment_id, e.%1$I AS rank FROM process.search_entries AS e WHERE true %2$s OFFSET 0) AS f
         WHERE f.tenant_id = $1 AND (f.rank, f.segment_id) < ($2, $3)
         ORDER BY f.rank DESC, f.segment_id DESC LIMIT $4) AS f
      %3$s LIMIT $4';
  by_order CONSTANT text :=
    'SELECT e.segment_id, e.rank
       FROM (SELECT e.*, e.%1$I AS rank FROM process.search_entries AS e
              WHERE e.tenant_id = $1 AND (e.%1$I, e.segment_id) < ($2, $3) AND e.%1$I >= $6
              ORDER BY e.tenant_id DESC, e.%1$I DESC, e.segment_id DESC LIMIT $5) AS e
      WHERE true %2$s LIMIT $4';
  tenant uuid := platform.current_tenant();
  bands  integer[];
  total  bigint;
  wanted record;
  depth  record;
  high   integer := CASE sort WHEN 'relevance' THEN least(process.search_band(below), 31) ELSE 31 END;
  reach  bigint; -- how far a walk goes
  lowest bigint := coalesce(CASE sort WHEN 'recency' THEN (request ->> 'after')::bigint << 29
                                      WHEN 'confidence' THEN (request ->> 'confidence')::bigint << 52 END, 0);
  found  integer := 0;
BEGIN
  IF sort NOT IN ('relevance', 'recency', 'confidence') OR most NOT BETWEEN 1 AND 1000 THEN
    RAISE EXCEPTION 'not an order, or not a size of a page' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT w.bands, w.segments INTO bands, total FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = '';
  IF coalesce(total, 0) <= 0 THEN
    RETURN;
  END IF;
  IF sort = 'recency' AND (request ->> 'before')::bigint << 29 <= below THEN
    below := (request ->> 'before')::bigint << 29;
    below_id := '00000000-0000-0000-0000-000000000000';
  END IF;
  SELECT * INTO wanted FROM process.search_conditions(tenant, request, bands);
  IF wanted.terms IS NULL THEN
    RETURN;
  END IF;
  IF jsonb_array_length(request -> 'videos') <= 50 THEN
    RETURN QUERY EXECUTE format(in_videos, sort, wanted.terms || wanted.filters)
      USING tenant, below, below_id, most, process.search_texts(request -> 'videos')::uuid[];
    RETURN;
  END IF;
  SELECT * INTO depth FROM process.search_depth(
    bands, wanted.hits, high, CASE sort WHEN 'relevance' THEN most ELSE total END);
  reach := least(depth.among * most / depth.expected, total);
  IF wanted.terms = '' OR reach < 3 * depth.expected THEN
    reach := CASE WHEN wanted.terms = '' THEN total ELSE 1000 + 3 * depth.expected * wanted.loss END;
    FOR segment_id, rank IN
      EXECUTE format(by_order, sort, wanted.terms || wanted.filters) USING tenant, below, below_id, most, reach, lowest
    LOOP
      RETURN NEXT;
      found := found + 1;
      below := rank;
      below_id := segment_id;
    END LOOP;
    IF found = most OR reach >= total THEN
      RETURN;
    END IF;
  END IF;
  -- The bands come in the order of their list, because what is joined to each depends on it: by relevance that is all.
  RETURN QUERY EXECUTE format(
    by_words, sort, wanted.keys || wanted.filters,
    CASE sort WHEN 'relevance' THEN '' ELSE 'ORDER BY f.rank DESC, f.segment_id DESC' END)
    USING tenant, below, below_id, most - found,
      ARRAY(SELECT b.band FROM generate_series(high, 0, -1) AS b (band)
             WHERE bands[b.band + 1] > 0 AND (sort <> 'relevance' OR b.band <= process.search_band(below)));
END
$$;

RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
