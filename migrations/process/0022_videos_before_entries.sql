-- Adding entries takes as long as there are texts, whatever statistics say. Where they told of other tenants alone, PostgreSQL
-- took thousands of segments for one, and compared them each with each: with the entries of their videos, and with their
-- words. A video with much text could then not be indexed within the time that a statement has. Now the videos are found
-- first, and what is needed of a segment goes along with its words instead of being joined to them.
CREATE OR REPLACE FUNCTION process.search_add(tenant uuid, added uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  videos     uuid[];
  wanted     uuid[];
  relevances bigint[];
BEGIN
  PERFORM process.search_count(tenant, NULL, 0);
  videos := ARRAY(SELECT DISTINCT s.video_id FROM process.segments AS s WHERE s.tenant_id = tenant AND s.id = ANY (added));
  videos := ARRAY(
    SELECT v.video_id FROM process.videos AS v
     WHERE v.tenant_id = tenant AND v.video_id = ANY (videos) AND v.deleted_at IS NULL);
  -- Thousands at once are told apart by hashing, never each with each.
  SELECT array_agg(missing.id) INTO wanted FROM (
    SELECT s.id FROM process.segments AS s
     WHERE s.tenant_id = tenant AND s.id = ANY (added) AND s.video_id = ANY (videos)
    EXCEPT
    SELECT e.segment_id FROM process.search_entries AS e WHERE e.tenant_id = tenant AND e.video_id = ANY (videos)
  ) AS missing;
  WITH split AS MATERIALIZED (
    SELECT s.id, s.video_id, s.confidence, s.t_start, w.place, w.shown, w.word -- one without words, too
      FROM process.segments AS s LEFT JOIN LATERAL process.search_split(s.normalized_text) AS w ON true
     WHERE s.tenant_id = tenant AND s.id = ANY (wanted)
    UNION ALL
    SELECT m.segment_id, NULL, NULL, NULL, 1000, m.mark, m.mark FROM process.search_marks(tenant, wanted) AS m
  ), needed AS (
    SELECT word, mode() WITHIN GROUP (ORDER BY shown) AS shown, count(DISTINCT id)::integer AS segments
      FROM split WHERE word IS NOT NULL GROUP BY word
  ), lists AS (
    SELECT array_agg(word) AS words, array_agg(shown) AS showns, array_agg(segments) AS counts FROM needed
  ), numbers AS MATERIALIZED (
    SELECT g.word, g.word_id FROM lists AS l, process.search_gain(tenant, l.words, l.showns, l.counts) AS g
  ), lines AS (
    SELECT p.id, (array_agg(p.video_id) FILTER (WHERE p.video_id IS NOT NULL))[1] AS video_id,
           max(p.confidence) AS confidence, max(p.t_start) AS t_start,
           array_agg(n.word_id ORDER BY p.place, p.word) FILTER (WHERE n.word_id IS NOT NULL) AS words,
           count(*) FILTER (WHERE p.place < 1000) AS long
      FROM split AS p LEFT JOIN numbers AS n ON n.word = p.word GROUP BY p.id
  ), entered AS (
    INSERT INTO process.search_entries (tenant_id, video_id, segment_id, relevance, recency, confidence, words)
    SELECT tenant, l.video_id, l.id,
           (process.search_weight(l.confidence, l.long) << 55) | (t.second << 22) | (4194303 - least(l.t_start / 1000, 4194303)),
           (t.second << 29) | (536870911 - least(l.t_start / 10, 536870911)),
           (round(1000 * least(greatest(l.confidence, 0), 1))::bigint << 52) | (t.second << 19)
             | (524287 - least(l.t_start / 1000, 524287)),
           coalesce(l.words, '{}')
      FROM lines AS l
      JOIN process.videos AS v ON v.tenant_id = tenant AND v.video_id = l.video_id AND v.video_id = ANY (videos)
     CROSS JOIN LATERAL (SELECT least(greatest(extract(epoch FROM v.created_at), 0), 8589934591)::bigint) AS t (second)
    RETURNING relevance
  )
  SELECT array_agg(e.relevance) INTO relevances FROM entered AS e;
  PERFORM process.search_count(tenant, relevances, 1);
END
$$;
