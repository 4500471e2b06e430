-- What a worker held that is known to be dead goes back at once, not when its lease is over. Whoever calls knows it by a lock
-- that the dead one's system took away from it (platform.presence); a worker's name is of one process and never used again, so
-- that nothing of a living one is taken. A job that cannot be given back is named by the caller, and does not stop the others.

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
DROP FUNCTION process.reclaim(text, integer);
-- Answers each job, then whatever failed with it. Of the slips those that are still good stay.
CREATE FUNCTION process.reclaim(
  worker text, most integer, ended text[] DEFAULT '{}', kinds text[] DEFAULT NULL, passed_over uuid[] DEFAULT '{}'
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  lost   process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOR lost IN
    WITH looked_at AS MATERIALIZED (
      SELECT s.ctid AS slip, s.tenant_id, s.jobs FROM process.slips AS s FOR UPDATE SKIP LOCKED
    ), running AS MATERIALIZED (
      SELECT l.slip, l.tenant_id, n.id, job.locked_until, job.locked_by, job.job_type
        FROM looked_at AS l CROSS JOIN LATERAL unnest(l.jobs) AS n (id) CROSS JOIN LATERAL (
          SELECT j.locked_until, j.locked_by, j.job_type FROM process.jobs AS j
           WHERE j.tenant_id = l.tenant_id AND j.id = n.id AND j.status = 'processing' OFFSET 0) AS job
    ), cleared_away AS (
      DELETE FROM process.slips AS s
       WHERE s.ctid = ANY (ARRAY(SELECT l.slip FROM looked_at AS l EXCEPT SELECT r.slip FROM running AS r))
    ), expired AS MATERIALIZED (
      SELECT r.tenant_id, r.id FROM running AS r
       WHERE (r.locked_until <= now() OR r.locked_by = ANY (ended))
         AND (kinds IS NULL OR r.job_type::text = ANY (kinds)) AND r.id <> ALL (passed_over)
       GROUP BY r.tenant_id, r.id
       ORDER BY min(r.locked_until)
    )
    SELECT job.* FROM expired AS e CROSS JOIN LATERAL (
      SELECT * FROM process.jobs AS j
       WHERE j.tenant_id = e.tenant_id AND j.id = e.id AND j.status = 'processing'
         AND (j.locked_until <= now() OR j.locked_by = ANY (ended))
         FOR UPDATE SKIP LOCKED) AS job
     LIMIT most
  LOOP
    UPDATE process.jobs AS j
       SET status = 'failed', locked_by = NULL, locked_until = NULL,
           payload = CASE WHEN lost.locked_until <= now()
             THEN process.failed_payload(
               j.payload, 'LeaseExpired', format('%s was not heard of in time', lost.locked_by), j.retry_count)
             ELSE process.failed_payload(
               j.payload, 'WorkerDied', format('%s ended without giving it back', lost.locked_by), j.retry_count) END
     WHERE j.tenant_id = lost.tenant_id AND j.id = lost.id
    RETURNING j.* INTO failed;
    IF failed.retry_count < failed.max_retries THEN
      RETURN QUERY SELECT * FROM process.requeue(failed, failed.retry_count + 1, now());
    ELSE
      RETURN NEXT failed;
      RETURN QUERY SELECT * FROM process.fail_children(failed);
    END IF;
  END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION process.reclaim(text, integer, text[], text[], uuid[]) FROM PUBLIC;
-- Without a login of their own, workers connect as the application.
GRANT EXECUTE ON FUNCTION process.reclaim(text, integer, text[], text[], uuid[])
  TO touchline_worker, touchline_app, touchline_definer;
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
