-- Searching. A request is a document of words as they are compared, a trailing * for "begins with":
--   {"all": [["goal"], ["arsena1", "arsenaa1"], ["fin*"]], "phrases": [["man", "utd"]], "none": ["offside"],
--    "no_phrases": [["extra", "time"]], "videos": ["..."], "after": 0, "before": 0, "confidence": 0,
--    "spelling": {"goai": ["goal", "goals"]}, "splits": {"tvnord": [["tv", "nord"]]}}
-- `all`: of each list one word, or, where its first is in `spelling`, one of those it is read as, or, where it is in
-- `splits`, one of those pairs; times are seconds, the confidence is in thousandths.

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

-- The numbers of a phrase's words in their order, or null when one is not known, and the share of segments that will
-- likely have them all: between that of the rarest and that of independent words.
CREATE FUNCTION process.search_phrase(
  tenant uuid, phrase text[], total double precision, OUT ids integer[], OUT share double precision
)
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN count(w.word_id) = count(*) THEN array_agg(w.word_id ORDER BY p.place) END,
         sqrt(min(w.segments) / total * exp(greatest(sum(ln(greatest(w.segments, 1) / total)), -100)))
    FROM unnest(phrase) WITH ORDINALITY AS p (word, place)
    LEFT JOIN process.search_words AS w ON w.tenant_id = tenant AND w.word = p.word
$$;

CREATE FUNCTION process.search_in_order(ids integer[]) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN format(' ('' '' || array_to_string(e.words, '' '') || '' '' LIKE %L)', '% ' || array_to_string(ids, ' ') || ' %');

-- About how many words a text of a band has: the weight says how short it is, and how confident its recognition was.
CREATE FUNCTION process.search_length(band integer) RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN greatest(1, 457.0 / (4 * band + 2) - 3);

-- How much likelier a text of each band has a given word than any text has: the longer, the likelier.
CREATE FUNCTION process.search_chances(bands integer[]) RETURNS double precision[]
LANGUAGE sql IMMUTABLE
RETURN (
  WITH lengths AS (SELECT b.place, b.segments, process.search_length(b.place::integer - 1) AS words
                     FROM unnest(bands) WITH ORDINALITY AS b (segments, place))
  SELECT array_agg(l.words * a.segments / a.words ORDER BY l.place)
    FROM lengths AS l, (SELECT sum(segments) AS segments, sum(segments * words) AS words FROM lengths) AS a);

-- How many of each band will likely have what this share of all segments has.
CREATE FUNCTION process.search_share(hits double precision[], share double precision, chances double precision[])
RETURNS double precision[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT greatest(h.hits * least(1, share * h.chance), 1e-9)
               FROM unnest(hits, chances) WITH ORDINALITY AS h (hits, chance, place) ORDER BY h.place);

-- Two words that one may be: the numbers of the first ones and of the second ones, the condition that one pair stands
-- in its order, and the share of segments that will likely have one.
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

-- A request as conditions on an entry: its words as they stand in it (`terms`), as the index of words answers them in a
-- band (`keys`), and the rest. `hits`: how many segments of each band will likely have all the words, as they are asked
-- for; `loss` times as many have them in any order. No terms: none can. A phrase is also found where its words are
-- written as one.
CREATE FUNCTION process.search_conditions(
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

-- How many hits there likely are in the bands, from one downwards, that will fill a page, and among how many segments.
CREATE FUNCTION process.search_depth(
  bands integer[], hits double precision[], high integer, most bigint,
  OUT expected double precision, OUT among double precision
)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  expected := 1e-9;
  among := 0;
  FOR band IN REVERSE high .. 0 LOOP
    expected := expected + hits[band + 1];
    among := among + bands[band + 1];
    EXIT WHEN expected >= most;
  END LOOP;
END
$$;

-- A page: the highest of an order below a place. There are two ways to it. By the words: fetch all that have them,
-- sort; by relevance band by band, the highest first, until the page is full. By the order: walk down and keep what has
-- the words, until the page is full. The first costs as much as there are matches, the second the less the more there
-- are; a step of it costs about a third. A walk that turns out to be long is given up: what is missing is found by the
-- words. Within a few videos, all that these have is read. The ways are fixed here: wrong statistics cannot change
-- them. Sorting is disabled except as a last resort, so a walk follows its index. The conditions contain only numbers
-- and quoted ids.
CREATE FUNCTION process.search(request jsonb, sort text, most integer, below bigint, below_id uuid)
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

-- Words as they are known here. `known`: themselves, or, where nobody has written them, those that are one typo away;
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
                 WHERE w.typos && process.search_typos(tenant, asked) AND w.tenant_id = tenant AND w.word <> asked
                   AND process.one_typo(asked, w.word)) AS n
         ORDER BY n.segments DESC, n.word LIMIT 50;
    END IF;
  END LOOP;
END
$$;

-- Text recognition loses spaces: `TV NORD` is found as `TVNORD`, and the other way round. Nothing of it is in the
-- index: how the words that were typed may be written is looked up in the vocabulary, and joins their alternatives.
--
-- `pairs`: neighbours as they were typed, [["tv", "nord"], …]; where somebody has written them as one word, each is
-- read as that, too (`other` is null). `whole`: words that may be two; the pairs of known words that they are (`one`,
-- `other`). Common words are themselves: what looks like their parts stands beside each other by chance.
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

-- The words that begin with a prefix, most frequent first.
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

REVOKE EXECUTE ON FUNCTION process.search(jsonb, text, integer, bigint, uuid), process.search_spelling(text[], text[]),
  process.search_spacing(jsonb, text[]), process.search_suggestions(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.search(jsonb, text, integer, bigint, uuid), process.search_spelling(text[], text[]),
  process.search_spacing(jsonb, text[]), process.search_suggestions(text, integer)
  TO touchline_app, touchline_worker, touchline_readonly;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.search(jsonb, text, integer, bigint, uuid) OWNER TO touchline_definer;
ALTER FUNCTION process.search_spelling(text[], text[]) OWNER TO touchline_definer;
ALTER FUNCTION process.search_spacing(jsonb, text[]) OWNER TO touchline_definer;
ALTER FUNCTION process.search_suggestions(text, integer) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
