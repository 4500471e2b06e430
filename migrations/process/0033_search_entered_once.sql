-- Each segment is entered once. A worker writes segments and their entities with one statement: the trigger of segments
-- enters them with all their marks, and that of entities finds nothing left to do. What is computed or lost for many words is
-- so in one step.

-- The digests of a word and of what is left when one letter is missing. A function that answers rows becomes part of the
-- statement that asks it; one that answers an array is started anew for every word.
CREATE FUNCTION process.search_slip_digests(tenant uuid, word text) RETURNS TABLE (digest integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT DISTINCT ('x' || left(md5(tenant::text || left(word, i - 1) || substr(word, i + 1)), 8))::bit(32)::integer
    FROM generate_series(1, CASE WHEN length(word) BETWEEN 4 AND 32 AND word !~ '^(:.*|[0-9]+)$' THEN length(word) + 1 END) AS i
$$;

CREATE OR REPLACE FUNCTION process.search_slips(tenant uuid, word text) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(ARRAY(SELECT d.digest FROM process.search_slip_digests(tenant, word) AS d), '{}');

-- The vocabulary may be large, what changes is small, and of a tenant that came after the last ANALYZE all indexes promise one
-- row. So no join is left to the planner here: each word is looked up alone, and rows are changed where they were found.

-- Brings words into the vocabulary, counted for the segments that gain them, and answers their numbers.
CREATE OR REPLACE FUNCTION process.search_gain(tenant uuid, words text[], showns text[], counts integer[])
RETURNS TABLE (word text, word_id integer)
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_nestloop = off AS $$
  WITH needed AS MATERIALIZED (
    SELECT n.word, n.shown, n.segments,
           (SELECT w.ctid FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = n.word) AS place
      FROM unnest(words, showns, counts) AS n (word, shown, segments)
  ), known AS (
    UPDATE process.search_words AS w SET segments = w.segments + n.segments
      FROM needed AS n WHERE w.ctid = ANY (ARRAY(SELECT place FROM needed)) AND w.word = n.word
    RETURNING w.word, w.word_id
  ), added AS (
    INSERT INTO process.search_words (tenant_id, word, segments, shown, slips)
    SELECT tenant, n.word, n.segments, n.shown,
           nullif(ARRAY(SELECT d.digest FROM process.search_slip_digests(tenant, n.word) AS d), '{}')
      FROM needed AS n WHERE n.place IS NULL
    RETURNING word, word_id
  )
  SELECT k.word, k.word_id FROM known AS k UNION ALL SELECT a.word, a.word_id FROM added AS a
$$;

-- What nobody has any more is forgotten: a deleted text leaves no word behind.
CREATE OR REPLACE FUNCTION process.search_lose(tenant uuid, ids integer[], counts integer[]) RETURNS void
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_nestloop = off AS $$
  WITH lost AS MATERIALIZED (
    SELECT l.id, l.segments, (SELECT w.ctid FROM process.search_words AS w WHERE w.word_id = l.id) AS place
      FROM (SELECT l.id, sum(l.n)::integer AS segments FROM unnest(ids, counts) AS l (id, n) GROUP BY l.id) AS l
  ), forgotten AS (
    DELETE FROM process.search_words AS w USING lost AS l
     WHERE w.ctid = ANY (ARRAY(SELECT place FROM lost)) AND w.word_id = l.id AND (w.tenant_id = tenant) IS TRUE
       AND w.segments <= l.segments AND w.word <> ''
  )
  UPDATE process.search_words AS w SET segments = w.segments - l.segments FROM lost AS l
   WHERE w.ctid = ANY (ARRAY(SELECT place FROM lost)) AND w.word_id = l.id AND (w.tenant_id = tenant) IS TRUE
     AND (w.segments > l.segments OR w.word = '');
$$;

-- The entries of videos, and where they lie. Whatever statistics say: only the index of videos has this order.
CREATE FUNCTION process.search_entries_of(tenant uuid, videos uuid[])
RETURNS TABLE (place tid, segment_id uuid, words integer[])
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off AS $$
  SELECT e.place, e.segment_id, e.words
    FROM (SELECT DISTINCT v.id FROM unnest(videos) AS v (id)) AS v
   CROSS JOIN LATERAL (
     SELECT e.ctid AS place, e.segment_id, e.words FROM process.search_entries AS e
      WHERE (e.tenant_id, e.video_id) BETWEEN (tenant, v.id) AND (tenant, v.id)
      ORDER BY e.tenant_id, e.video_id OFFSET 0) AS e
$$;

CREATE OR REPLACE FUNCTION process.search_add(tenant uuid, added uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  wanted     uuid[];
  relevances bigint[];
BEGIN
  PERFORM process.search_count(tenant, NULL, 0);
  -- Thousands at once are told apart by hashing, never each with each.
  SELECT array_agg(missing.id) INTO wanted FROM (
    SELECT s.id FROM process.segments AS s
      JOIN process.videos AS v ON v.tenant_id = s.tenant_id AND v.video_id = s.video_id AND v.deleted_at IS NULL
     WHERE s.tenant_id = tenant AND s.id = ANY (added)
    EXCEPT
    SELECT e.segment_id FROM process.search_entries_of(tenant, ARRAY(
      SELECT o.video_id FROM process.segments AS o WHERE o.tenant_id = tenant AND o.id = ANY (added))) AS e
  ) AS missing;
  IF wanted IS NULL THEN
    RETURN;
  END IF;
  WITH split AS MATERIALIZED (
    SELECT s.id, w.place, w.shown, w.word FROM process.segments AS s, process.search_split(s.normalized_text) AS w
     WHERE s.tenant_id = tenant AND s.id = ANY (wanted)
    UNION ALL
    SELECT m.segment_id, 1000, m.mark, m.mark FROM process.search_marks(tenant, wanted) AS m
  ), needed AS (
    SELECT word, mode() WITHIN GROUP (ORDER BY shown) AS shown, count(DISTINCT id)::integer AS segments FROM split GROUP BY word
  ), lists AS (
    SELECT array_agg(word) AS words, array_agg(shown) AS showns, array_agg(segments) AS counts FROM needed
  ), numbers AS MATERIALIZED (
    SELECT g.word, g.word_id FROM lists AS l, process.search_gain(tenant, l.words, l.showns, l.counts) AS g
  ), lines AS (
    SELECT p.id, array_agg(n.word_id ORDER BY p.place, p.word) AS words, count(*) FILTER (WHERE p.place < 1000) AS long
      FROM split AS p JOIN numbers AS n ON n.word = p.word GROUP BY p.id
  ), entered AS (
    INSERT INTO process.search_entries (tenant_id, video_id, segment_id, relevance, recency, confidence, words)
    SELECT tenant, s.video_id, s.id,
           (process.search_weight(s.confidence, l.long) << 55) | (t.second << 22) | (4194303 - least(s.t_start / 1000, 4194303)),
           (t.second << 29) | (536870911 - least(s.t_start / 10, 536870911)),
           (round(1000 * least(greatest(s.confidence, 0), 1))::bigint << 52) | (t.second << 19)
             | (524287 - least(s.t_start / 1000, 524287)),
           coalesce(l.words, '{}')
      FROM process.segments AS s
      JOIN process.videos AS v ON v.tenant_id = s.tenant_id AND v.video_id = s.video_id
     CROSS JOIN LATERAL (SELECT least(greatest(extract(epoch FROM v.created_at), 0), 8589934591)::bigint) AS t (second)
      LEFT JOIN lines AS l ON l.id = s.id
     WHERE s.tenant_id = tenant AND s.id = ANY (wanted)
    RETURNING relevance
  )
  SELECT array_agg(e.relevance) INTO relevances FROM entered AS e;
  PERFORM process.search_count(tenant, relevances, 1);
END
$$;

-- Takes entries out: those of a video, and of them only the wanted segments, if any are named.
CREATE OR REPLACE FUNCTION process.search_remove(tenant uuid, video uuid, wanted uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  ids        integer[];
  counts     integer[];
  relevances bigint[];
BEGIN
  PERFORM process.search_count(tenant, NULL, 0);
  WITH removed AS (
    DELETE FROM process.search_entries AS e
     WHERE e.ctid = ANY (ARRAY(
       SELECT f.place FROM process.search_entries_of(tenant, ARRAY[video]) AS f
        WHERE wanted IS NULL OR f.segment_id IN (SELECT unnest(wanted))))
    RETURNING e.segment_id, e.relevance, e.words
  ), lost AS (
    SELECT w.id, count(DISTINCT r.segment_id)::integer AS segments FROM removed AS r, unnest(r.words) AS w (id) GROUP BY w.id
  )
  SELECT array_agg(l.id), array_agg(l.segments), (SELECT array_agg(r.relevance) FROM removed AS r)
    INTO ids, counts, relevances FROM lost AS l;
  PERFORM process.search_lose(tenant, ids, counts);
  PERFORM process.search_count(tenant, relevances, -1);
END
$$;

-- Of these segments those whose entries lack a mark that they have. What is entered nowhere lacks nothing: there is no
-- segment, or its video was deleted.
CREATE FUNCTION process.search_unmarked(tenant uuid, wanted uuid[]) RETURNS uuid[]
LANGUAGE sql STABLE AS $$
  WITH marks AS MATERIALIZED (
    SELECT m.segment_id, m.mark FROM process.search_marks(tenant, wanted) AS m
  ), numbers AS MATERIALIZED (
    SELECT d.mark, coalesce(
             (SELECT w.word_id FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = d.mark),
             0) AS word_id -- which no word has
      FROM (SELECT DISTINCT m.mark FROM marks AS m) AS d
  ), needed AS (
    SELECT m.segment_id, array_agg(n.word_id) AS ids FROM marks AS m JOIN numbers AS n ON n.mark = m.mark GROUP BY m.segment_id
  )
  SELECT array_agg(n.segment_id)
    FROM needed AS n
    JOIN process.search_entries_of(tenant, ARRAY(
           SELECT s.video_id FROM process.segments AS s WHERE s.tenant_id = tenant AND s.id = ANY (wanted))) AS e
      ON e.segment_id = n.segment_id
   WHERE NOT e.words @> n.ids
$$;

CREATE OR REPLACE FUNCTION process.search_again(tenant uuid, wanted uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM process.search_remove(tenant, s.video_id, array_agg(s.id))
     FROM process.segments AS s WHERE s.tenant_id = tenant AND s.id = ANY (wanted) GROUP BY s.video_id;
  IF FOUND THEN -- entities went with their segments otherwise
    PERFORM process.search_add(tenant, wanted);
  END IF;
END
$$;

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;

-- A new entity can only add marks; one that was changed or deleted may have left some.
CREATE OR REPLACE FUNCTION process.search_entities() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  changed record;
BEGIN
  FOR changed IN
    SELECT c.tenant_id, array_agg(DISTINCT c.segment_id) AS segments
      FROM changed_entities AS c GROUP BY c.tenant_id ORDER BY c.tenant_id
  LOOP
    IF TG_OP = 'INSERT' THEN
      changed.segments := process.search_unmarked(changed.tenant_id, changed.segments);
    END IF;
    IF changed.segments IS NOT NULL THEN
      PERFORM process.search_again(changed.tenant_id, changed.segments);
    END IF;
  END LOOP;
  RETURN NULL;
END
$$;

RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
