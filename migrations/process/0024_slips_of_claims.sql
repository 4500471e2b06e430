-- One slip for a claim, not for each of its jobs: to leave and to clear away one for each took a tenth of what a short job
-- costs. It is cleared away when all its jobs have ended.

ALTER TABLE process.slips ADD COLUMN jobs uuid[], ALTER COLUMN job_id DROP NOT NULL;
SET LOCAL ROLE touchline_definer; -- who alone sees those of all tenants
WITH held AS (DELETE FROM process.slips RETURNING tenant_id, job_id)
INSERT INTO process.slips (tenant_id, jobs) SELECT h.tenant_id, array_agg(h.job_id) FROM held AS h GROUP BY h.tenant_id;
RESET ROLE;
ALTER TABLE process.slips
  DROP COLUMN job_id, ALTER COLUMN jobs SET NOT NULL, ALTER COLUMN jobs SET STORAGE EXTERNAL; -- ids do not shrink

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
-- After every statement: the history, children whose parent is done, and a hint to waiting workers. Who acts and why is
-- told by the settings process.actor and process.reason.
CREATE OR REPLACE FUNCTION process.record_transitions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  actor  text := coalesce(nullif(current_setting('process.actor', true), ''), session_user);
  why    text := nullif(current_setting('process.reason', true), '');
  now_ms bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM new_jobs) THEN
    RETURN NULL;
  END IF;
  INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
  SELECT n.tenant_id, n.id, n.was, n.status, n.attempt, n.retry_count, actor,
         CASE WHEN why IS NOT NULL THEN why
              WHEN n.was = 'failed' OR n.status = 'failed'
              THEN concat_ws(': ', n.payload #>> '{error,type}', n.payload #>> '{error,message}') END
    FROM new_jobs AS n
   WHERE n.was IS DISTINCT FROM n.status;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.parked = 'parent') THEN
      PERFORM process.fail_children(p) FROM process.jobs AS p
        JOIN (SELECT DISTINCT n.tenant_id, n.depends_on FROM new_jobs AS n WHERE n.parked = 'parent') AS wanted
          ON p.tenant_id = wanted.tenant_id AND p.id = wanted.depends_on
       WHERE p.status = 'failed';
    END IF;
  ELSE
    INSERT INTO process.slips (tenant_id, jobs)
    SELECT n.tenant_id, array_agg(n.id) FROM new_jobs AS n WHERE n.status = 'processing' AND n.was = 'queued'
     GROUP BY n.tenant_id;
    IF EXISTS (SELECT 1 FROM new_jobs AS n CROSS JOIN LATERAL (
                 SELECT 1 FROM process.jobs AS c WHERE c.tenant_id = n.tenant_id AND c.depends_on = n.id LIMIT 1) AS child
                WHERE n.status = 'done') THEN
      UPDATE process.jobs AS c SET run_at = c.run_at FROM new_jobs AS n
       WHERE n.status = 'done' AND c.tenant_id = n.tenant_id AND c.depends_on = n.id AND c.parked = 'parent';
    END IF;
  END IF;
  IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.status = 'queued' AND n.lane IS NOT NULL) THEN
    -- One wake-up in 5 ms is enough: whoever was woken looks once more shortly after.
    now_ms := extract(epoch FROM clock_timestamp()) * 1000;
    IF (SELECT s.last_value FROM process.woken_at_ms AS s) NOT BETWEEN now_ms - 4 AND now_ms THEN
      PERFORM setval('process.woken_at_ms', now_ms), pg_notify('touchline_jobs', '');
    END IF;
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION process.held(worker text) RETURNS SETOF process.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  SELECT job.*
    FROM (SELECT DISTINCT s.tenant_id, n.id FROM process.slips AS s CROSS JOIN LATERAL unnest(s.jobs) AS n (id)) AS s
   CROSS JOIN LATERAL (
     SELECT * FROM process.jobs AS j
      WHERE j.tenant_id = s.tenant_id AND j.id = s.id
        AND j.status = 'processing' AND j.locked_until > now() AND j.locked_by = worker OFFSET 0) AS job
$$;

-- Answers each job, then whatever failed with it. Of the slips those that are still good stay.
CREATE OR REPLACE FUNCTION process.reclaim(worker text, most integer) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  lost   process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  WITH looked_at AS MATERIALIZED ( -- nobody goes through what another does
    SELECT s.ctid, s.tenant_id, s.jobs FROM process.slips AS s FOR UPDATE SKIP LOCKED
  )
  DELETE FROM process.slips AS s USING looked_at AS l
   WHERE s.ctid = l.ctid AND NOT EXISTS (
     SELECT 1 FROM unnest(l.jobs) AS n (id) CROSS JOIN LATERAL (
       SELECT 1 FROM process.jobs AS j
        WHERE j.tenant_id = l.tenant_id AND j.id = n.id AND j.status = 'processing' OFFSET 0) AS job);
  FOR lost IN
    WITH expired AS MATERIALIZED (
      SELECT s.tenant_id, n.id FROM process.slips AS s CROSS JOIN LATERAL unnest(s.jobs) AS n (id) CROSS JOIN LATERAL (
        SELECT j.locked_until FROM process.jobs AS j
         WHERE j.tenant_id = s.tenant_id AND j.id = n.id AND j.status = 'processing' AND j.locked_until <= now()
        OFFSET 0) AS job
       GROUP BY s.tenant_id, n.id
       ORDER BY min(job.locked_until)
    )
    SELECT job.* FROM expired AS e CROSS JOIN LATERAL (
      SELECT * FROM process.jobs AS j
       WHERE j.tenant_id = e.tenant_id AND j.id = e.id AND j.status = 'processing' AND j.locked_until <= now()
         FOR UPDATE SKIP LOCKED) AS job
     LIMIT most
  LOOP
    UPDATE process.jobs AS j
       SET status = 'failed', locked_by = NULL, locked_until = NULL,
           payload = process.failed_payload(
             j.payload, 'LeaseExpired', format('%s was not heard of in time', lost.locked_by), j.retry_count)
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
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
