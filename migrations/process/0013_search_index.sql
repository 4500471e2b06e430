-- Keeping the index: every change of segments, entities and videos changes it in the same transaction. What one
-- change costs depends on the segments it touches, never on how many there are.

-- How many entries there are of each band, lowest first.
CREATE FUNCTION process.search_bands(relevances bigint[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
  SELECT count(r.relevance)::integer
    FROM generate_series(0, 31) AS b (band) LEFT JOIN unnest(relevances) AS r (relevance)
      ON process.search_band(r.relevance) = b.band
   GROUP BY b.band ORDER BY b.band);

-- Counts entries that came (1) or went (-1). Those who change the vocabulary of a tenant wait here for each other, so that
-- nobody waits in a circle.
CREATE FUNCTION process.search_count(tenant uuid, relevances bigint[], change integer) RETURNS void
LANGUAGE sql VOLATILE AS $$
  INSERT INTO process.search_words AS w (tenant_id, word, segments, shown, bands)
  VALUES (tenant, '', change * coalesce(cardinality(relevances), 0), '', process.search_bands(relevances))
  ON CONFLICT (tenant_id, word) DO UPDATE
     SET segments = w.segments + EXCLUDED.segments,
         bands = ARRAY(SELECT b.old + change * b.new FROM unnest(w.bands, EXCLUDED.bands) WITH ORDINALITY AS b (old, new, band)
                        ORDER BY b.band)
$$;

-- The joins of this file are word by word, whatever statistics say: the vocabulary may be large, what changes is small.

-- Brings words into the vocabulary, counted for the segments that gain them, and answers their numbers.
CREATE FUNCTION process.search_gain(tenant uuid, words text[], showns text[], counts integer[])
RETURNS TABLE (word text, word_id integer)
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  WITH needed AS MATERIALIZED (
    SELECT n.word, n.shown, n.segments FROM unnest(words, showns, counts) AS n (word, shown, segments)
  ), known AS (
    UPDATE process.search_words AS w SET segments = w.segments + n.segments
      FROM needed AS n WHERE w.tenant_id = tenant AND w.word = n.word
    RETURNING w.word, w.word_id
  ), added AS (
    INSERT INTO process.search_words (tenant_id, word, segments, shown, slips)
    SELECT tenant, n.word, n.segments, n.shown, process.search_slips(tenant, n.word) FROM needed AS n
     WHERE NOT EXISTS (SELECT 1 FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word = n.word)
    RETURNING word, word_id
  )
  SELECT k.word, k.word_id FROM known AS k UNION ALL SELECT a.word, a.word_id FROM added AS a
$$;

-- What nobody has any more is forgotten: a deleted text leaves no word behind.
CREATE FUNCTION process.search_lose(tenant uuid, ids integer[], counts integer[]) RETURNS void
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  UPDATE process.search_words AS w SET segments = w.segments - l.segments
    FROM (SELECT id, sum(n)::integer AS segments FROM unnest(ids, counts) AS l (id, n) GROUP BY id) AS l
   WHERE w.word_id = l.id AND w.tenant_id = tenant;
  DELETE FROM process.search_words AS w
   WHERE w.word_id = ANY (ids) AND w.tenant_id = tenant AND w.segments <= 0 AND w.word <> '';
$$;

CREATE FUNCTION process.search_marks(tenant uuid, wanted uuid[], OUT segment_id uuid, OUT mark text) RETURNS SETOF record
LANGUAGE sql STABLE AS $$
  SELECT s.id, ':lang:' || lower(s.language) FROM process.segments AS s
   WHERE s.tenant_id = tenant AND s.id = ANY (wanted) AND s.language IS NOT NULL
  UNION
  SELECT e.segment_id, m.mark FROM process.entities AS e, unnest(ARRAY[
           ':' || e.entity_type, ':' || e.number_kind,
           ':' || e.entity_type || ':' || process.search_fold(left(lower(e.normalized_value), 200))]) AS m (mark)
   WHERE e.tenant_id = tenant AND e.segment_id = ANY (wanted) AND m.mark IS NOT NULL
$$;

-- The share of a text that one of its words is, by how sure the reader was of it.
CREATE FUNCTION process.search_weight(confidence real, words bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN round(127 * least(greatest(confidence, 0), 1) * 4 / (3 + greatest(words, 1)))::bigint;

CREATE FUNCTION process.search_add(tenant uuid, added uuid[]) RETURNS void
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
    SELECT e.segment_id FROM process.search_entries AS e
     WHERE e.tenant_id = tenant AND e.video_id IN (
       SELECT o.video_id FROM process.segments AS o WHERE o.tenant_id = tenant AND o.id = ANY (added))
  ) AS missing;
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
CREATE FUNCTION process.search_remove(tenant uuid, video uuid, wanted uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  ids        integer[];
  counts     integer[];
  relevances bigint[];
BEGIN
  PERFORM process.search_count(tenant, NULL, 0);
  WITH removed AS (
    DELETE FROM process.search_entries AS e
     WHERE e.tenant_id = tenant AND e.video_id = video AND (wanted IS NULL OR e.segment_id IN (SELECT unnest(wanted)))
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

CREATE FUNCTION process.search_again(tenant uuid, wanted uuid[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
  SELECT process.search_remove(tenant, s.video_id, array_agg(s.id))
    FROM process.segments AS s WHERE s.tenant_id = tenant AND s.id = ANY (wanted) GROUP BY s.video_id;
  SELECT process.search_add(tenant, wanted);
$$;

CREATE FUNCTION process.search_segments() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM process.search_remove(o.tenant_id, o.video_id, array_agg(o.id))
       FROM old_segments AS o GROUP BY o.tenant_id, o.video_id ORDER BY o.tenant_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM process.search_add(n.tenant_id, array_agg(n.id))
       FROM new_segments AS n GROUP BY n.tenant_id ORDER BY n.tenant_id;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER search_added AFTER INSERT ON process.segments REFERENCING NEW TABLE AS new_segments
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_segments();
CREATE TRIGGER search_changed AFTER UPDATE ON process.segments
  REFERENCING OLD TABLE AS old_segments NEW TABLE AS new_segments
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_segments();
CREATE TRIGGER search_removed AFTER DELETE ON process.segments REFERENCING OLD TABLE AS old_segments
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_segments();

CREATE FUNCTION process.search_entities() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM process.search_again(c.tenant_id, array_agg(DISTINCT c.segment_id))
     FROM changed_entities AS c GROUP BY c.tenant_id ORDER BY c.tenant_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER search_marked AFTER INSERT ON process.entities REFERENCING NEW TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();
CREATE TRIGGER search_remarked AFTER UPDATE ON process.entities REFERENCING NEW TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();
CREATE TRIGGER search_unmarked AFTER DELETE ON process.entities REFERENCING OLD TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();

-- Its artifact was deleted: it is found no more, and whatever is still read in it will not be.
CREATE FUNCTION process.forget_video(video uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  tenant uuid := platform.current_tenant();
BEGIN
  UPDATE process.videos AS v SET deleted_at = now(), updated_at = now(), revision = v.revision + 1
   WHERE v.tenant_id = tenant AND v.video_id = video AND v.deleted_at IS NULL;
  IF FOUND THEN
    PERFORM process.search_remove(tenant, video, NULL);
  END IF;
END
$$;

-- The index made anew from the segments: of the tenant of this transaction, or, where there is none, of all.
CREATE FUNCTION process.refresh_search_materialized() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  tenant uuid;
  wanted uuid[];
BEGIN
  FOR tenant IN
    SELECT DISTINCT v.tenant_id FROM process.videos AS v
     WHERE v.tenant_id = coalesce(platform.current_tenant(), v.tenant_id) ORDER BY 1
  LOOP
    PERFORM process.search_count(tenant, NULL, 0);
    DELETE FROM process.search_entries AS e WHERE e.tenant_id = tenant;
    DELETE FROM process.search_words AS w WHERE w.tenant_id = tenant AND w.word <> '';
    UPDATE process.search_words AS w SET segments = 0, bands = process.search_bands(NULL) WHERE w.tenant_id = tenant;
    FOR wanted IN
      SELECT array_agg(s.id) FROM process.segments AS s WHERE s.tenant_id = tenant GROUP BY s.video_id
    LOOP
      PERFORM process.search_add(tenant, wanted);
    END LOOP;
  END LOOP;
END
$$;

-- What can be found, for people and programs that look with plain SQL.
CREATE VIEW process.search_materialized WITH (security_invoker = true) AS
SELECT s.tenant_id, s.video_id, s.id AS segment_id, s.text, s.normalized_text, s.t_start, s.t_end, s.confidence,
       s.bounding_box, s.language,
       ARRAY(SELECT e.entity_type || ':' || e.normalized_value FROM process.entities AS e
              WHERE e.tenant_id = s.tenant_id AND e.segment_id = s.id ORDER BY 1) AS entities
  FROM process.search_entries AS x
  JOIN process.segments AS s ON s.tenant_id = x.tenant_id AND s.id = x.segment_id;
GRANT SELECT ON process.search_materialized TO touchline_app, touchline_worker, touchline_readonly, touchline_system;

REVOKE EXECUTE ON FUNCTION process.search_segments(), process.search_entities(), process.forget_video(uuid),
  process.refresh_search_materialized() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.forget_video(uuid), process.refresh_search_materialized()
  TO touchline_app, touchline_worker, touchline_system;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.search_segments() OWNER TO touchline_definer;
ALTER FUNCTION process.search_entities() OWNER TO touchline_definer;
ALTER FUNCTION process.forget_video(uuid) OWNER TO touchline_definer;
ALTER FUNCTION process.refresh_search_materialized() OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
