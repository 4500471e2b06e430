-- Looking things up. A request is a document of words as they are compared, a trailing * for "begins with":
--   {"all": [["goal"], ["arsena1", "arsenaa1"], ["fin*"]], "phrases": [["man", "utd"]], "none": ["offside"],
--    "no_phrases": [["extra", "time"]], "videos": ["..."], "after": 0, "before": 0, "confidence": 0}
-- `all`: of each list one word; times are seconds, the confidence is in thousandths.

CREATE FUNCTION process.search_find(tenant uuid, wanted text[]) RETURNS TABLE (word_id integer, segments integer)
LANGUAGE sql STABLE AS $$
  SELECT w.word_id, w.segments FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = ANY (wanted)
  UNION
  SELECT w.word_id, w.segments
    FROM unnest(wanted) AS p (word)
    JOIN process.search_words AS w ON w.tenant_id = tenant AND w.word >= rtrim(p.word, '*')
                                  AND w.word < rtrim(p.word, '*') || chr(1114111)
   WHERE right(p.word, 1) = '*'
$$;

CREATE FUNCTION process.search_texts(list jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT jsonb_array_elements_text(list));

-- The numbers of a phrase's words in their order, or null when one is not known.
CREATE FUNCTION process.search_phrase(tenant uuid, phrase text[], OUT ids integer[], OUT rarest integer)
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN count(w.word_id) = count(*) THEN array_agg(w.word_id ORDER BY p.place) END, min(w.segments)
    FROM unnest(phrase) WITH ORDINALITY AS p (word, place)
    LEFT JOIN process.search_words AS w ON w.tenant_id = tenant AND w.word = p.word
$$;

CREATE FUNCTION process.search_in_order(ids integer[]) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN format(' ('' '' || array_to_string(e.words, '' '') || '' '' LIKE %L)', '% ' || array_to_string(ids, ' ') || ' %');

CREATE FUNCTION process.search_negative(ids integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT -i.id FROM unnest(ids) AS i (id));

-- A request as conditions on an entry (`top_terms`: on one of the highest weights), how many segments of this many will likely meet them, and by how much fewer the
-- short texts do that relevance puts first: a text of two words has either of two less often. No terms: none can.
CREATE FUNCTION process.search_conditions(
  tenant uuid, request jsonb, total double precision,
  OUT terms text, OUT top_terms text, OUT filters text, OUT likely double precision, OUT scarcity double precision
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  part   jsonb;
  ids     integer[];
  counted bigint;
  singles integer[] := '{}'; -- words that must all be there
  others  text := '';
  top_others text := '';
BEGIN
  filters := '';
  likely := total;
  scarcity := 1;
  FOR part IN SELECT jsonb_array_elements(request -> 'all') LOOP
    SELECT array_agg(f.word_id), sum(f.segments) INTO ids, counted
      FROM process.search_find(tenant, process.search_texts(part)) AS f;
    IF ids IS NULL THEN
      RETURN;
    END IF;
    IF cardinality(ids) = 1 THEN
      singles := singles || ids;
    ELSE
      others := others || format(' AND e.words && %L::integer[]', ids);
      top_others := top_others || format(' AND e.words && %L::integer[]', process.search_negative(ids));
    END IF;
    likely := likely * least(1, counted / total);
    scarcity := scarcity * 0.4;
  END LOOP;
  FOR part IN SELECT jsonb_array_elements(request -> 'phrases') LOOP
    SELECT p.ids, p.rarest INTO ids, counted FROM process.search_phrase(tenant, process.search_texts(part)) AS p;
    IF ids IS NULL THEN
      RETURN;
    END IF;
    singles := singles || ids;
    others := others || ' AND' || process.search_in_order(ids);
    top_others := top_others || ' AND' || process.search_in_order(ids);
    likely := likely * least(1, counted / total) / 4;
    scarcity := scarcity * 0.4 ^ cardinality(ids);
  END LOOP;
  SELECT array_agg(f.word_id) INTO ids
    FROM process.search_find(tenant, process.search_texts(request -> 'none')) AS f;
  IF ids IS NOT NULL THEN
    filters := filters || format(' AND NOT e.words && %L::integer[]', ids);
  END IF;
  FOR part IN SELECT jsonb_array_elements(request -> 'no_phrases') LOOP
    SELECT p.ids INTO ids FROM process.search_phrase(tenant, process.search_texts(part)) AS p;
    IF ids IS NOT NULL THEN
      filters := filters || ' AND NOT' || process.search_in_order(ids);
    END IF;
  END LOOP;
  IF request ? 'videos' THEN
    filters := filters || format(' AND e.video_id = ANY (%L::uuid[])', process.search_texts(request -> 'videos'));
  END IF;
  IF request ? 'after' THEN
    filters := filters || format(' AND e.recency >= %s', (request ->> 'after')::bigint << 29);
  END IF;
  IF request ? 'before' THEN
    filters := filters || format(' AND e.recency < %s', (request ->> 'before')::bigint << 29);
  END IF;
  IF request ? 'confidence' THEN
    filters := filters || format(' AND e.confidence >= %s', (request ->> 'confidence')::bigint << 52);
  END IF;
  top_terms := CASE WHEN singles <> '{}'
    THEN format(' AND e.words @> %L::integer[]', process.search_negative(singles)) ELSE '' END || top_others;
  terms := CASE WHEN singles <> '{}' THEN format(' AND e.words @> %L::integer[]', singles) ELSE '' END || others;
END
$$;

-- All that meet the conditions, sorted: a page of them, behind those that are known already.
CREATE FUNCTION process.search_by_words(
  tenant uuid, sort text, conditions text, most integer, known integer, below bigint, below_id uuid
) RETURNS TABLE (segment_id uuid, rank bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'WITH found AS MATERIALIZED (
       SELECT e.tenant_id, e.segment_id, e.%1$I AS rank FROM process.search_entries AS e WHERE true %2$s
     )
     SELECT f.segment_id, f.rank FROM found AS f
      WHERE f.tenant_id = $1 AND (f.rank, f.segment_id) < ($2, $3)
      ORDER BY f.rank DESC, f.segment_id DESC LIMIT $4 OFFSET $5', sort, conditions)
    USING tenant, below, below_id, most, known;
END
$$;

-- A page: the highest of an order below a place. There are two ways to it. By the words: fetch all that have them, sort.
-- By the order: walk down and keep what has them, until the page is full. The first costs as much as there are matches,
-- the second the less the more there are; a walk that turns out to be long is given up for the first. By relevance, the
-- highest weights are tried alone before all: they often fill the page.
-- The ways are fixed here: statistics that lie cannot change them. The conditions hold only numbers and quoted ids.
CREATE FUNCTION process.search(request jsonb, sort text, most integer, below bigint, below_id uuid)
RETURNS TABLE (segment_id uuid, rank bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  tenant uuid := platform.current_tenant();
  total  double precision;
  terms  text;
  top_terms text;
  filters text;
  likely double precision;
  dense  double precision; -- as many as would be met on the way down if they lay evenly
  reach  bigint;
  hits   integer;
BEGIN
  IF sort NOT IN ('relevance', 'recency', 'confidence') OR most NOT BETWEEN 1 AND 1000 THEN
    RAISE EXCEPTION 'not an order, or not a size of a page' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT w.segments INTO total FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = '';
  IF coalesce(total, 0) <= 0 THEN
    RETURN;
  END IF;
  SELECT c.terms, c.top_terms, c.filters, c.likely, c.likely * CASE sort WHEN 'relevance' THEN c.scarcity ELSE 1 END
    INTO terms, top_terms, filters, likely, dense
    FROM process.search_conditions(tenant, request, total) AS c;
  IF terms IS NULL THEN
    RETURN;
  END IF;
  IF jsonb_array_length(request -> 'videos') <= 50 THEN
    RETURN QUERY EXECUTE format(
      'WITH found AS MATERIALIZED (
         SELECT e.segment_id, e.%1$I AS rank FROM process.search_entries AS e WHERE e.tenant_id = $1 %2$s
       )
       SELECT f.segment_id, f.rank FROM found AS f WHERE (f.rank, f.segment_id) < ($2, $3)
        ORDER BY f.rank DESC, f.segment_id DESC LIMIT $4', sort, filters || terms)
      USING tenant, below, below_id, most;
    RETURN;
  END IF;
  IF terms = '' OR dense * likely > most * total THEN
    reach := CASE WHEN terms = '' THEN total ELSE 1000 + 4 * most * total / dense END;
    RETURN QUERY EXECUTE format(
      'SELECT e.segment_id, e.rank
         FROM (SELECT e.*, e.%1$I AS rank FROM process.search_entries AS e
                WHERE e.tenant_id = $1 AND (e.%1$I, e.segment_id) < ($2, $3)
                ORDER BY e.tenant_id DESC, e.%1$I DESC, e.segment_id DESC LIMIT $5) AS e
        WHERE true %2$s LIMIT $4', sort, filters || terms)
      USING tenant, below, below_id, most, reach;
    GET DIAGNOSTICS hits = ROW_COUNT;
    IF hits = most OR reach >= total THEN
      RETURN;
    END IF;
  END IF;
  IF hits IS NULL AND sort = 'relevance' AND likely > 10 * most THEN
    RETURN QUERY SELECT b.segment_id, b.rank
      FROM process.search_by_words(tenant, sort, top_terms || filters, most, 0, below, below_id) AS b;
    GET DIAGNOSTICS hits = ROW_COUNT;
    IF hits = most THEN
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT b.segment_id, b.rank
    FROM process.search_by_words(
      tenant, sort, terms || filters, most - coalesce(hits, 0), coalesce(hits, 0), below, below_id) AS b;
END
$$;

-- Words as they are known here. `known`: themselves, or, where nobody has written them, those that are one slip away;
-- `loose`: both.
CREATE FUNCTION process.search_spelling(known text[], loose text[]) RETURNS TABLE (wanted text, word text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  tenant uuid := platform.current_tenant();
  asked  text;
  is_known boolean;
BEGIN
  FOREACH asked IN ARRAY known || loose LOOP
    is_known := EXISTS (SELECT 1 FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = asked);
    IF is_known THEN
      wanted := asked;
      word := asked;
      RETURN NEXT;
    END IF;
    IF NOT is_known OR asked = ANY (loose) THEN
      RETURN QUERY
        SELECT asked, n.word
          FROM (SELECT w.word::text, w.segments FROM process.search_words AS w
                 WHERE w.slips && process.search_slips(tenant, asked) AND w.tenant_id = tenant AND w.word <> asked
                   AND process.one_slip(asked, w.word)) AS n
         ORDER BY n.segments DESC, n.word LIMIT 50;
    END IF;
  END LOOP;
END
$$;

-- The words that begin so, most frequent first.
CREATE FUNCTION process.search_suggestions(prefix text, most integer) RETURNS TABLE (shown text, segments integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  tenant uuid := platform.current_tenant();
BEGIN
  IF left(prefix, 1) NOT IN ('', ':') THEN
    RETURN QUERY
      SELECT w.shown, w.segments FROM process.search_words AS w
       WHERE w.tenant_id = tenant AND w.word >= prefix AND w.word < prefix || chr(1114111)
       ORDER BY w.segments DESC, w.word LIMIT least(most, 50);
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION process.search(jsonb, text, integer, bigint, uuid),
  process.search_spelling(text[], text[]), process.search_suggestions(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.search(jsonb, text, integer, bigint, uuid),
  process.search_spelling(text[], text[]), process.search_suggestions(text, integer)
  TO touchline_app, touchline_worker, touchline_readonly;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.search(jsonb, text, integer, bigint, uuid) OWNER TO touchline_definer;
ALTER FUNCTION process.search_spelling(text[], text[]) OWNER TO touchline_definer;
ALTER FUNCTION process.search_suggestions(text, integer) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
