-- One job of tenants other than those named: for a slot that a tenant may not have while others wait. The first job of a tenant
-- that waits stands no further behind its lane than the lane moves at once, so that no claim goes through a backlog to find it.

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the function over
SET LOCAL ROLE touchline_definer;
CREATE FUNCTION process.claim_from_others(
  worker text, kinds process.job_type[], passed_over uuid[], lease interval
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at     process.lanes;
  first  bigint;
  prefix text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOR at IN
    SELECT l.* FROM process.lanes AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    SELECT j.start_tag INTO first FROM process.jobs AS j
     WHERE j.lane = at.id AND j.status = 'queued'
     ORDER BY j.start_tag, j.place
     LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.lane = at.id AND j.status = 'queued'
           AND j.start_tag BETWEEN first AND greatest(first, at.virtual_time) + 128 -- twice what a lane moves at once
           AND j.tenant_id <> ALL (passed_over)
         ORDER BY j.start_tag, j.place
         LIMIT 1
           FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE process.jobs AS j
           SET status = 'processing', locked_by = worker, locked_until = clock_timestamp() + lease,
               revision = j.revision + 1, was = 'queued', attempt = j.attempt + 1, started_at = clock_timestamp(),
               progress_percent = NULL
          FROM due
         WHERE j.ctid = due.ctid -- locked: it stays where it is
        RETURNING j.*
      ), told AS (
        INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
        SELECT gen_random_uuid(), t.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}', 1,
               process.change_text(prefix, t)
          FROM taken AS t
      )
      SELECT * FROM taken;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION process.claim_from_others(text, process.job_type[], uuid[], interval) FROM PUBLIC;
-- Without a login of their own, workers connect as the application.
GRANT EXECUTE ON FUNCTION process.claim_from_others(text, process.job_type[], uuid[], interval)
  TO touchline_worker, touchline_app, touchline_definer;
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
