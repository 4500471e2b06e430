-- Readers of pictures lose spaces: `TV NORD` is found as `TVNORD`, and the other way round. Nothing of it is in the index: how the
-- words that were typed may stand in texts is looked up in the vocabulary, and joins their alternatives.

-- `pairs`: neighbours as they were typed, [["tv", "nord"], …]; where somebody has written them as one word, each is read as
-- that, too (`other` is null). `whole`: words that may be two; the pairs of known words that they are (`one`, `other`). Common
-- words are themselves: what looks like their parts stands beside each other by chance.
CREATE FUNCTION process.search_spacing(pairs jsonb, whole text[]) RETURNS TABLE (wanted text, one text, other text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  tenant uuid := platform.current_tenant();
  asked  text;
BEGIN
  RETURN QUERY
    SELECT t.word, w.word::text, NULL::text
      FROM jsonb_array_elements(pairs) AS p (pair)
      JOIN process.search_words AS w ON w.tenant_id = tenant AND w.word = (p.pair ->> 0) || (p.pair ->> 1)
     CROSS JOIN LATERAL jsonb_array_elements_text(p.pair) AS t (word);
  FOREACH asked IN ARRAY whole LOOP
    CONTINUE WHEN length(asked) NOT BETWEEN 4 AND 32 OR asked ~ '^[0-9]+$' OR EXISTS (
      SELECT 1 FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = asked AND w.segments > 1000);
    RETURN QUERY
      SELECT asked, a.word::text, b.word::text
        FROM generate_series(2, length(asked) - 2) AS i
        JOIN process.search_words AS a ON a.tenant_id = tenant AND a.word = left(asked, i)
        JOIN process.search_words AS b ON b.tenant_id = tenant AND b.word = substr(asked, i + 1)
       ORDER BY least(a.segments, b.segments) DESC, i LIMIT 3;
  END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION process.search_spacing(jsonb, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.search_spacing(jsonb, text[]) TO touchline_app, touchline_worker, touchline_readonly;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the function over
ALTER FUNCTION process.search_spacing(jsonb, text[]) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;

-- Two words that one may be: the numbers of the first ones and of the second ones, the condition that one pair stands in its
-- order, and the share of segments that will likely have one.
CREATE FUNCTION process.search_pairs(
  tenant uuid, pairs jsonb, total double precision,
  OUT firsts integer[], OUT seconds integer[], OUT in_order text, OUT share double precision
)
LANGUAGE sql STABLE AS $$
  SELECT array_agg(a.word_id), array_agg(b.word_id),
         string_agg(process.search_in_order(ARRAY[a.word_id, b.word_id]), ' OR'),
         sum(least(a.segments, b.segments)) / total / 4
    FROM jsonb_array_elements(pairs) AS p (pair)
    JOIN process.search_words AS a ON a.tenant_id = tenant AND a.word = p.pair ->> 0
    JOIN process.search_words AS b ON b.tenant_id = tenant AND b.word = p.pair ->> 1
$$;

-- As before, and: `splits` are the pairs that a word of `all` may be, {"tvnord": [["tv", "nord"]]}; a phrase is also found where its
-- words are written as one.
CREATE OR REPLACE FUNCTION process.search_conditions(
  tenant uuid, request jsonb, bands integer[],
  OUT terms text, OUT keys text, OUT filters text, OUT hits double precision[], OUT loss double precision
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  part    jsonb;
  asked   text;
  ids     integer[];
  share   double precision;
  firsts  integer[];
  seconds integer[];
  beside  text;
  paired  double precision;
  joined  integer;
  whole   double precision;
  total   double precision := (SELECT sum(b.segments) FROM unnest(bands) AS b (segments));
  chances double precision[] := process.search_chances(bands);
  even    double precision[] := array_fill(1, ARRAY[32]); -- marks do not depend on the length
  groups  text[] := '{}'; -- of each an entry has one
  in_order CONSTANT double precision := 4; -- a phrase is likely in one of so many that have its words
BEGIN
  hits := bands;
  loss := 1;
  filters := '';
  FOR asked, part IN
    SELECT a.list ->> 0, coalesce(request -> 'spelling' -> (a.list ->> 0), a.list)
      FROM jsonb_array_elements(request -> 'all') AS a (list)
  LOOP
    SELECT array_agg(f.word_id), sum(f.segments) / total INTO ids, share
      FROM process.search_find(tenant, process.search_texts(part)) AS f;
    firsts := NULL;
    IF request -> 'splits' ? asked THEN
      SELECT p.firsts, p.seconds, p.in_order, p.share INTO firsts, seconds, beside, paired
        FROM process.search_pairs(tenant, request -> 'splits' -> asked, total) AS p;
    END IF;
    IF firsts IS NOT NULL THEN
      groups := groups || (ids || firsts)::text || (ids || seconds)::text;
      filters := filters || format(' AND (e.words && %L::integer[] OR %s)', coalesce(ids, '{}'), beside);
      share := coalesce(share, 0) + paired;
      loss := loss * in_order;
    ELSIF ids IS NULL THEN
      RETURN;
    ELSE
      groups := groups || ids::text;
    END IF;
    hits := process.search_share(hits, share, CASE WHEN part ->> 0 LIKE ':%' THEN even ELSE chances END);
  END LOOP;
  FOR part IN SELECT jsonb_array_elements(request -> 'phrases') LOOP
    SELECT p.ids, p.share / in_order INTO ids, share FROM process.search_phrase(tenant, process.search_texts(part), total) AS p;
    SELECT w.word_id, w.segments / total INTO joined, whole FROM process.search_words AS w
     WHERE w.tenant_id = tenant AND w.word = array_to_string(process.search_texts(part), '');
    IF ids IS NULL AND joined IS NULL THEN
      RETURN;
    ELSIF ids IS NULL THEN
      groups := groups || format('{%s}', joined);
      share := whole;
    ELSIF joined IS NULL THEN
      groups := groups || ARRAY(SELECT format('{%s}', i.id) FROM unnest(ids) AS i (id));
      filters := filters || ' AND' || process.search_in_order(ids);
      loss := loss * in_order;
    ELSE
      groups := groups || ARRAY(SELECT format('{%s,%s}', joined, i.id) FROM unnest(ids) AS i (id));
      filters := filters || format(' AND (%s = ANY (e.words) OR %s)', joined, process.search_in_order(ids));
      share := share + whole;
      loss := loss * in_order;
    END IF;
    hits := process.search_share(hits, share, chances);
  END LOOP;
  SELECT array_agg(f.word_id) INTO ids
    FROM process.search_find(tenant, process.search_texts(request -> 'none')) AS f;
  IF ids IS NOT NULL THEN
    filters := filters || format(' AND NOT e.words && %L::integer[]', ids);
  END IF;
  FOR part IN SELECT jsonb_array_elements(request -> 'no_phrases') LOOP
    SELECT p.ids INTO ids FROM process.search_phrase(tenant, process.search_texts(part), total) AS p;
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
  SELECT coalesce(string_agg(format(' AND e.words && %L::integer[]', g.ids), ''), ''),
         string_agg(format(
           ' AND process.search_keys(e.words, e.relevance) && ARRAY(
               SELECT (i.id::bigint << 5) + b.band FROM unnest(%L::integer[]) AS i (id))', g.ids), '')
    INTO terms, keys FROM unnest(groups) AS g (ids);
END
$$;
