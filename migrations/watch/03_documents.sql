-- Matches, goals and words for teams as documents, under the names and with the fields that people know them by.
-- A goal that was taken away is in none of them.

CREATE VIEW watch.goal_documents WITH (security_invoker = true) AS
SELECT g.tenant_id, g.fixture_id, g.event_id, g.generation, g.minute, g.extra, g.home_score + g.away_score AS scored,
       g.raw || jsonb_build_object(
         '_event_id', g.event_id,
         '_generation', g.generation,
         '_first_seen', g.first_seen,
         '_monitor_workflows', to_jsonb(g.monitor_workflows),
         '_monitor_count', cardinality(g.monitor_workflows),
         '_monitor_complete', g.monitor_complete,
         '_twitter_aliases', to_jsonb(g.twitter_aliases),
         '_twitter_attempt', g.twitter_attempt,
         '_twitter_count', cardinality(g.download_workflows),
         '_twitter_complete', g.download_complete,
         '_download_workflows', to_jsonb(g.download_workflows),
         '_download_complete', g.download_complete,
         '_outcome', g.outcome,
         '_removed', false,
         '_discovered_videos', coalesce((
           SELECT jsonb_agg(jsonb_build_object(
                    'url', d.url, 'post_id', d.post_id, 'video_index', d.video_index, 'author', d.author,
                    'text', d.post_text, 'posted_at', d.posted_at, 'duration', d.duration_s, 'found_at', d.found_at,
                    'query', d.found_by, 'attempt', d.attempt, 'state', d.state, 'why', d.why)
                    ORDER BY d.found_at, d.post_id, d.video_index)
             FROM watch.found AS d
            WHERE d.tenant_id = g.tenant_id AND d.event_id = g.event_id AND d.generation = g.generation
         ), '[]'),
         '_s3_videos', coalesce((
           SELECT jsonb_agg(jsonb_build_object(
                    'artifact_hash', v.artifact_hash, 's3_key', v.object_key, 'md5', v.md5, 'file_size', v.size_bytes,
                    'duration_ms', v.duration_ms, 'width', v.width, 'height', v.height, 'bitrate', v.bit_rate,
                    'perceptual_hash', v.fingerprint, 'verified', v.verified, 'clock', v.clock,
                    'source_url', v.source_url, 'popularity', v.popularity, 'rank', v.rank,
                    'archived_at', v.archived_at)
                    ORDER BY v.rank)
             FROM watch.videos AS v
            WHERE v.tenant_id = g.tenant_id AND v.event_id = g.event_id AND v.generation = g.generation
              AND v.state = 'kept'
         ), '[]')
       ) AS document
  FROM watch.goals AS g
 WHERE g.removed_at IS NULL;

CREATE VIEW watch.fixture_documents WITH (security_invoker = true) AS
SELECT f.tenant_id, f.id, f.stage,
       f.raw || jsonb_build_object(
         '_id', f.id,
         '_first_seen', f.first_seen,
         '_last_monitor', f.last_monitor,
         '_completion_count', cardinality(f.completion_runs),
         'events', coalesce((
           SELECT jsonb_agg(g.document ORDER BY g.minute, coalesce(g.extra, 0), g.scored, g.event_id)
             FROM watch.goal_documents AS g
            WHERE g.tenant_id = f.tenant_id AND g.fixture_id = f.id
         ), '[]')
       ) AS document
  FROM watch.fixtures AS f;

CREATE VIEW watch.fixtures_staging WITH (security_invoker = true) AS
SELECT tenant_id, id, document FROM watch.fixture_documents WHERE stage = 'staging';

CREATE VIEW watch.fixtures_active WITH (security_invoker = true) AS
SELECT tenant_id, id, document FROM watch.fixture_documents WHERE stage = 'active';

CREATE VIEW watch.fixtures_completed WITH (security_invoker = true) AS
SELECT tenant_id, id, document FROM watch.fixture_documents WHERE stage = 'completed';

-- What the feed answered last, before it was compared with what is stored.
CREATE VIEW watch.fixtures_live WITH (security_invoker = true) AS
SELECT f.tenant_id, f.id,
       f.live || jsonb_build_object('_id', f.id, '_last_monitor', f.last_monitor, '_monitor_workflow', f.live_run)
         AS document
  FROM watch.fixtures AS f
 WHERE f.live IS NOT NULL;

CREATE VIEW watch.team_aliases WITH (security_invoker = true) AS
SELECT a.tenant_id, a.team_id AS id,
       jsonb_build_object(
         '_id', a.team_id, 'team_name', a.team_name, 'national', a.national, 'country', a.country, 'city', a.city,
         'twitter_aliases', to_jsonb(a.words), 'source', a.source, 'wikidata_qid', a.item, 'created_at', a.made_at,
         'expires_at', a.expires_at
       ) AS document
  FROM watch.aliases AS a;

GRANT SELECT ON watch.goal_documents, watch.fixture_documents, watch.fixtures_staging, watch.fixtures_active,
  watch.fixtures_completed, watch.fixtures_live, watch.team_aliases
  TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
