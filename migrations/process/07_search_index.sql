-- Keeping the search index: every change of segments, entities and videos changes it in the same transaction. What one
-- change costs depends on the segments it touches, never on how many there are.

-- From a text to the words that are compared. process/text.py does the same, letter for letter: a test compares.

-- A normalized word without accents, and with one letter for those that text recognition confuses: I l 1, O 0.
CREATE FUNCTION process.search_fold(word text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(
  CASE WHEN word ~ '^[a-z0-9]*$' THEN word ELSE normalize(regexp_replace(
    normalize(replace(replace(replace(translate(word, 'øłđðı', 'olddi'), 'þ', 'th'), 'æ', 'ae'), 'œ', 'oe'), NFKD),
    '[\u0300-\u036F\u0483-\u0487\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u0711\u0730-\u074A\u08CA-\u08FF\u093C\u094D\u09BC\u09CD\u0A3C\u0A4D\u0ABC\u0ACD\u0B3C\u0B4D\u0BCD\u0C4D\u0CBC\u0CCD\u0D4D\u0DCA\u0E38-\u0E3A\u0E48-\u0E4B\u0EB8-\u0EBA\u0EC8-\u0ECB\u1037\u1039\u103A\u17D2\u17DD\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\u302A-\u302F\u3099\u309A\uFE20-\uFE2F]+', '', 'g'), NFKC) END,
  'ilo', '110');

-- Scripts without spaces, and signs, have words of one character; everywhere else words are what lies between signs.
CREATE FUNCTION process.search_split(normalized text, OUT place bigint, OUT shown text, OUT word text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p.place, p.shown, p.word
    FROM (SELECT t.place, left(t.found[1], 64) AS shown, process.search_fold(left(t.found[1], 64)) AS word
            FROM regexp_matches(normalized, '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF]|[^\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF\u0001-/:-@\[-`{-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB\u00BF\u00D7\u00F7\u02C2-\u02C5\u02D2-\u02DF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05C6\u05F3\u05F4\u0600-\u060F\u061B-\u061F\u066A-\u066D\u06D4\u06DD\u06DE\u06E9\u0964\u0965\u0970\u10FB\u1360-\u1368\u2000-\u206F\u20A0-\u20CF\u2E00-\u2E7F\u3000-\u3004\u3008-\u3030\u3037-\u303F\u30FB\uE000-\uF8FF\uFD3E\uFD3F\uFE00-\uFE1F\uFE30-\uFE6F\uFEFF\uFFF0-\uFFFF\U000E0000-\U0010FFFF]+', 'g')
                 WITH ORDINALITY AS t (found, place)
           LIMIT 500) AS p
   WHERE p.word <> ''
$$;

-- Everything that a word becomes when one letter is missing.
CREATE FUNCTION process.search_deletions(word text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT left(word, i - 1) || substr(word, i + 1) FROM generate_series(1, length(word)) AS i);

-- The digests of a word and of what is left when one letter is missing, by tenant, so that nobody's words are near
-- another's. Numbers and short words have none. A function that returns rows is inlined into the statement that calls
-- it; one that returns an array is started anew for every word.
CREATE FUNCTION process.search_typo_digests(tenant uuid, word text) RETURNS TABLE (digest integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT DISTINCT ('x' || left(md5(tenant::text || left(word, i - 1) || substr(word, i + 1)), 8))::bit(32)::integer
    FROM generate_series(1, CASE WHEN length(word) BETWEEN 4 AND 32 AND word !~ '^(:.*|[0-9]+)$' THEN length(word) + 1 END) AS i
$$;

CREATE FUNCTION process.search_typos(tenant uuid, word text) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(ARRAY(SELECT d.digest FROM process.search_typo_digests(tenant, word) AS d), '{}');

-- One letter more, less or other, or two neighbours swapped.
CREATE FUNCTION process.one_typo(one text, other text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE length(one) - length(other)
  WHEN 1 THEN other = ANY (process.search_deletions(one))
  WHEN -1 THEN one = ANY (process.search_deletions(other))
  WHEN 0 THEN (
    SELECT count(*) <= 1 OR (count(*) = 2 AND max(i) = min(i) + 1
           AND substr(one, min(i), 2) = reverse(substr(other, min(i), 2)))
      FROM generate_series(1, length(one)) AS i
     WHERE substr(one, i, 1) <> substr(other, i, 1))
  ELSE false END;

-- How many entries there are of each band, lowest first.
CREATE FUNCTION process.search_bands(relevances bigint[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
  SELECT count(r.relevance)::integer
    FROM generate_series(0, 31) AS b (band) LEFT JOIN unnest(relevances) AS r (relevance)
      ON process.search_band(r.relevance) = b.band
   GROUP BY b.band ORDER BY b.band);

-- Counts entries that came (1) or went (-1). Transactions that change the vocabulary of a tenant queue here for each
-- other, so that there is no deadlock.
CREATE FUNCTION process.search_count(tenant uuid, relevances bigint[], change integer) RETURNS void
LANGUAGE sql VOLATILE AS $$
  INSERT INTO process.search_words AS w (tenant_id, word, segments, shown, bands)
  VALUES (tenant, '', change * coalesce(cardinality(relevances), 0), '', process.search_bands(relevances))
  ON CONFLICT (tenant_id, word) DO UPDATE
     SET segments = w.segments + EXCLUDED.segments,
         bands = ARRAY(SELECT b.old + change * b.new FROM unnest(w.bands, EXCLUDED.bands) WITH ORDINALITY AS b (old, new, band)
                        ORDER BY b.band)
$$;

-- The vocabulary may be large, what changes is small, and of a tenant that came after the last ANALYZE all indexes
-- promise one row. So no join is left to the planner here: each word is looked up alone, and rows are changed where
-- they were found.

-- Adds words to the vocabulary, counted for the segments that gain them, and returns their numbers.
CREATE FUNCTION process.search_gain(tenant uuid, words text[], showns text[], counts integer[])
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
    INSERT INTO process.search_words (tenant_id, word, segments, shown, typos)
    SELECT tenant, n.word, n.segments, n.shown,
           nullif(ARRAY(SELECT d.digest FROM process.search_typo_digests(tenant, n.word) AS d), '{}')
      FROM needed AS n WHERE n.place IS NULL
    RETURNING word, word_id
  )
  SELECT k.word, k.word_id FROM known AS k UNION ALL SELECT a.word, a.word_id FROM added AS a
$$;

-- A word that no segment has any more is deleted: a deleted text leaves no word behind.
CREATE FUNCTION process.search_lose(tenant uuid, ids integer[], counts integer[]) RETURNS void
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

-- The share of a text that one of its words is, by the confidence of its recognition.
CREATE FUNCTION process.search_weight(confidence real, words bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN round(127 * least(greatest(confidence, 0), 1) * 4 / (3 + greatest(words, 1)))::bigint;

-- The entries of videos, and where they are stored. Whatever statistics say: only the index of videos has this order.
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

-- Adds the entries of segments. Takes time in proportion to the texts, whatever statistics say.
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

-- Removes entries: those of a video, and of them only the wanted segments, if any are named.
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

-- Of these segments those whose entries lack a mark that they have. What has no entry lacks nothing: there is no
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

CREATE FUNCTION process.search_again(tenant uuid, wanted uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM process.search_remove(tenant, s.video_id, array_agg(s.id))
     FROM process.segments AS s WHERE s.tenant_id = tenant AND s.id = ANY (wanted) GROUP BY s.video_id;
  IF FOUND THEN -- entities went with their segments otherwise
    PERFORM process.search_add(tenant, wanted);
  END IF;
END
$$;

-- Each segment is entered once: a worker writes segments and their entities in one statement, the trigger of segments
-- enters them with all their marks, and that of entities finds nothing left to do.
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

-- A new entity can only add marks; one that was changed or deleted may have left some.
CREATE FUNCTION process.search_entities() RETURNS trigger
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
CREATE TRIGGER search_marked AFTER INSERT ON process.entities REFERENCING NEW TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();
CREATE TRIGGER search_remarked AFTER UPDATE ON process.entities REFERENCING NEW TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();
CREATE TRIGGER search_unmarked AFTER DELETE ON process.entities REFERENCING OLD TABLE AS changed_entities
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_entities();

-- The entries of a video's texts, made anew. They have full confidence and the position of the video's beginning.
CREATE FUNCTION process.search_add_texts(tenant uuid, video uuid) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  wanted     uuid[] := ARRAY(SELECT t.id FROM process.video_texts AS t WHERE t.tenant_id = tenant AND t.video_id = video);
  second     bigint := (SELECT least(greatest(extract(epoch FROM v.created_at), 0), 8589934591)::bigint
                          FROM process.videos AS v
                         WHERE v.tenant_id = tenant AND v.video_id = video AND v.deleted_at IS NULL);
  relevances bigint[];
BEGIN
  IF second IS NULL OR wanted = '{}' THEN
    RETURN;
  END IF;
  PERFORM process.search_remove(tenant, video, wanted);
  WITH split AS MATERIALIZED (
    SELECT t.id, w.place, w.shown, w.word
      FROM process.video_texts AS t, process.search_split(t.normalized_text) AS w
     WHERE t.tenant_id = tenant AND t.id = ANY (wanted)
    UNION ALL
    SELECT t.id, 1000, ':where:' || t.place, ':where:' || t.place
      FROM process.video_texts AS t WHERE t.tenant_id = tenant AND t.id = ANY (wanted)
  ), needed AS (
    SELECT word, mode() WITHIN GROUP (ORDER BY shown) AS shown, count(DISTINCT id)::integer AS segments
      FROM split GROUP BY word
  ), lists AS (
    SELECT array_agg(word) AS words, array_agg(shown) AS showns, array_agg(segments) AS counts FROM needed
  ), numbers AS MATERIALIZED (
    SELECT g.word, g.word_id FROM lists AS l, process.search_gain(tenant, l.words, l.showns, l.counts) AS g
  ), lines AS (
    SELECT p.id, array_agg(n.word_id ORDER BY p.place, p.word) AS words, count(*) FILTER (WHERE p.place < 1000) AS long
      FROM split AS p JOIN numbers AS n ON n.word = p.word GROUP BY p.id
  ), entered AS (
    INSERT INTO process.search_entries (tenant_id, video_id, segment_id, relevance, recency, confidence, words)
    SELECT tenant, video, l.id, (process.search_weight(1, l.long) << 55) | (second << 22) | 4194303,
           (second << 29) | 536870911, (1000::bigint << 52) | (second << 19) | 524287, l.words
      FROM lines AS l
    RETURNING relevance
  )
  SELECT array_agg(e.relevance) INTO relevances FROM entered AS e;
  PERFORM process.search_count(tenant, relevances, 1);
END
$$;

CREATE FUNCTION process.search_video_texts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM process.search_remove(o.tenant_id, o.video_id, array_agg(o.id))
       FROM old_texts AS o GROUP BY o.tenant_id, o.video_id ORDER BY o.tenant_id, o.video_id;
  ELSE
    PERFORM process.search_add_texts(n.tenant_id, n.video_id)
       FROM (SELECT DISTINCT tenant_id, video_id FROM new_texts) AS n ORDER BY n.tenant_id, n.video_id;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER search_added AFTER INSERT ON process.video_texts REFERENCING NEW TABLE AS new_texts
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_video_texts();
CREATE TRIGGER search_changed AFTER UPDATE ON process.video_texts REFERENCING NEW TABLE AS new_texts
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_video_texts();
CREATE TRIGGER search_removed AFTER DELETE ON process.video_texts REFERENCING OLD TABLE AS old_texts
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_video_texts();

-- A video that came after its texts.
CREATE FUNCTION process.search_new_videos() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM process.search_add_texts(n.tenant_id, n.video_id) FROM new_videos AS n ORDER BY n.tenant_id, n.video_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER search_new_videos AFTER INSERT ON process.videos REFERENCING NEW TABLE AS new_videos
  FOR EACH STATEMENT EXECUTE FUNCTION process.search_new_videos();

-- Its artifact was deleted: it is not found any more, nor is whatever is still read in it.
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

-- Its artifact was undeleted: it is found again, by the segments as they are by now. What the index has already stays,
-- so calling this twice, or after the index was rebuilt, changes nothing.
CREATE FUNCTION process.remember_video(video uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  tenant uuid := platform.current_tenant();
BEGIN
  UPDATE process.videos AS v SET deleted_at = NULL, updated_at = now(), revision = v.revision + 1
   WHERE v.tenant_id = tenant AND v.video_id = video AND v.deleted_at IS NOT NULL;
  IF FOUND THEN
    PERFORM process.search_add(
      tenant, ARRAY(SELECT s.id FROM process.segments AS s WHERE s.tenant_id = tenant AND s.video_id = video));
    PERFORM process.search_add_texts(tenant, video);
  END IF;
END
$$;

-- Rebuilds the index from the texts: of the tenant of this transaction, or, where there is none, of all.
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
    PERFORM process.search_add_texts(tenant, t.video_id)
       FROM (SELECT DISTINCT t.video_id FROM process.video_texts AS t WHERE t.tenant_id = tenant) AS t ORDER BY t.video_id;
  END LOOP;
END
$$;

-- What can be found, for people and programs that use plain SQL.
CREATE VIEW process.search_materialized WITH (security_invoker = true) AS
SELECT s.tenant_id, s.video_id, s.id AS segment_id, s.text, s.normalized_text, s.t_start, s.t_end, s.confidence,
       s.bounding_box, s.language,
       ARRAY(SELECT e.entity_type || ':' || e.normalized_value FROM process.entities AS e
              WHERE e.tenant_id = s.tenant_id AND e.segment_id = s.id ORDER BY 1) AS entities,
       'picture' AS place
  FROM process.search_entries AS x
  JOIN process.segments AS s ON s.tenant_id = x.tenant_id AND s.id = x.segment_id
 UNION ALL
SELECT t.tenant_id, t.video_id, t.id, t.text, t.normalized_text, 0, 0, 1, NULL, NULL, '{}', t.place
  FROM process.search_entries AS x
  JOIN process.video_texts AS t ON t.tenant_id = x.tenant_id AND t.id = x.segment_id;
GRANT SELECT ON process.search_materialized TO touchline_app, touchline_worker, touchline_readonly, touchline_system;

REVOKE EXECUTE ON FUNCTION process.search_segments(), process.search_entities(), process.search_video_texts(),
  process.search_new_videos(), process.forget_video(uuid), process.remember_video(uuid), process.refresh_search_materialized()
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.forget_video(uuid), process.remember_video(uuid), process.refresh_search_materialized()
  TO touchline_app, touchline_worker, touchline_system;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.search_segments() OWNER TO touchline_definer;
ALTER FUNCTION process.search_entities() OWNER TO touchline_definer;
ALTER FUNCTION process.search_video_texts() OWNER TO touchline_definer;
ALTER FUNCTION process.search_new_videos() OWNER TO touchline_definer;
ALTER FUNCTION process.forget_video(uuid) OWNER TO touchline_definer;
ALTER FUNCTION process.remember_video(uuid) OWNER TO touchline_definer;
ALTER FUNCTION process.refresh_search_materialized() OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
