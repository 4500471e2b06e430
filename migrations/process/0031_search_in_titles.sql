-- Search finds a video also by what the library knows of it: its title, and the match, teams and player of a goal that it
-- shows. These texts have entries beside those of segments, with a mark (`:where:title`) that tells where they stand.
-- They are told by events, which may come before the video itself: a text waits until its video is there.

CREATE TABLE process.video_texts (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL, -- computed of the video and the place
  video_id        uuid NOT NULL,
  place           text NOT NULL CHECK (place IN ('title', 'match')),
  text            text NOT NULL,
  normalized_text text NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, video_id, place)
);
SELECT platform.raise_wall('process.video_texts');
CREATE POLICY definer_door ON process.video_texts FOR SELECT TO touchline_definer USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.video_texts TO touchline_app, touchline_worker;
GRANT SELECT, DELETE ON process.video_texts TO touchline_system;
GRANT SELECT ON process.video_texts TO touchline_readonly, touchline_definer;

-- What was told of a video, by the highest revision of each teller. What texts and labels are made of, see process/labels.
CREATE TABLE process.video_subjects (
  tenant_id      uuid NOT NULL,
  video_id       uuid NOT NULL,
  title          text,
  title_revision bigint NOT NULL DEFAULT 0,
  goal           jsonb,   -- what it shows: match, teams, player
  goal_revision  bigint NOT NULL DEFAULT 0,
  is_dropped     boolean NOT NULL DEFAULT false, -- it shows no goal any more, whatever comes
  PRIMARY KEY (tenant_id, video_id)
);
SELECT platform.raise_wall('process.video_subjects');
GRANT SELECT, INSERT, UPDATE ON process.video_subjects TO touchline_app, touchline_worker;
GRANT SELECT, DELETE ON process.video_subjects TO touchline_system;
GRANT SELECT ON process.video_subjects TO touchline_readonly;

-- A label is found by any of its words: `player:saka` finds B. Saka. Labels may be told before their video, too.
ALTER TABLE process.video_labels DROP CONSTRAINT video_labels_pkey, DROP CONSTRAINT video_labels_tenant_id_video_id_fkey;
ALTER TABLE process.video_labels ADD COLUMN word text;
INSERT INTO process.video_labels (tenant_id, video_id, kind, value, word)
SELECT DISTINCT l.tenant_id, l.video_id, l.kind, l.value, w.word
  FROM process.video_labels AS l, regexp_split_to_table(l.value, ' ') AS w (word) WHERE l.word IS NULL;
DELETE FROM process.video_labels WHERE word IS NULL;
ALTER TABLE process.video_labels ADD PRIMARY KEY (tenant_id, video_id, kind, value, word);
DROP INDEX process.video_labels_value;
CREATE INDEX video_labels_word ON process.video_labels (tenant_id, kind, word, value, video_id);

-- The entries of a video's texts, made anew. They are as sure as can be, and stand where the video begins.
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

-- What can be found, for people and programs that look with plain SQL.
CREATE OR REPLACE VIEW process.search_materialized WITH (security_invoker = true) AS
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

REVOKE EXECUTE ON FUNCTION process.search_video_texts(), process.search_new_videos() FROM PUBLIC;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.search_video_texts() OWNER TO touchline_definer;
ALTER FUNCTION process.search_new_videos() OWNER TO touchline_definer;
SET LOCAL ROLE touchline_definer;

CREATE OR REPLACE FUNCTION process.remember_video(video uuid) RETURNS void
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

-- The index made anew from the texts: of the tenant of this transaction, or, where there is none, of all.
CREATE OR REPLACE FUNCTION process.refresh_search_materialized() RETURNS void
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

RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
