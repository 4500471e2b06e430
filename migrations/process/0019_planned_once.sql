-- What a connection does with jobs is planned once, not anew for each of the first calls: planning took longer than the
-- act itself, and a worker's first jobs waited for it. These plans depend on no value, and on no statistics either.

ALTER FUNCTION process.enqueue(uuid, process.job_type, uuid, jsonb, integer, text, timestamptz, uuid, integer)
  SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION process.enqueue(uuid, process.job_type, uuid, jsonb, integer, text, timestamptz, uuid, integer)
  SET enable_seqscan = off;
ALTER FUNCTION process.enqueue_all(jsonb) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION process.enqueue_all(jsonb) SET enable_seqscan = off;

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
ALTER FUNCTION process.claim(text, process.job_type[], integer, interval, boolean)
  SET plan_cache_mode = force_generic_plan;

-- Many completions that change nothing else. Answers those that were refused: what this attempt has done, now or by an
-- earlier try whose answer was lost, is not among them. Of the jobs only what is told of them is kept.
CREATE OR REPLACE FUNCTION process.complete_all(
  worker text, tenants uuid[], jobs uuid[], attempts integer[], results jsonb
) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  prefix  text := process.event_prefix();
  granted bigint;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  WITH done AS (
    UPDATE process.jobs AS j
       SET status = 'done', result = results -> (held.number::integer - 1), progress_percent = 100,
           locked_by = NULL, locked_until = NULL
      FROM unnest(tenants, jobs, attempts) WITH ORDINALITY AS held (tenant_id, id, attempt, number)
     WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
       AND j.status::text = 'processing' AND j.locked_by = worker AND j.locked_until > clock_timestamp()
    RETURNING j.tenant_id, process.change_text(prefix, j) AS change
  ), told AS (
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
    SELECT gen_random_uuid(), d.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}',
           count(*), string_agg(d.change, ',')
      FROM done AS d
     GROUP BY d.tenant_id
  )
  SELECT count(*) INTO granted FROM done;
  IF granted < cardinality(jobs) THEN
    RETURN QUERY
      SELECT held.id FROM unnest(tenants, jobs, attempts) AS held (tenant_id, id, attempt)
       WHERE NOT EXISTS (
         SELECT 1 FROM process.jobs AS j
          WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt AND j.status::text = 'done');
  END IF;
END
$$;
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
