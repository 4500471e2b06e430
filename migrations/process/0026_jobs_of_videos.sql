-- Which jobs a video has stands in a table of its own, to which a job comes once. As an index of the jobs it was written
-- again whenever one ended, at a random place: a tenth of what the database does for a short job.

CREATE TABLE process.video_jobs (
  tenant_id uuid NOT NULL,
  video_id  uuid NOT NULL,
  job_id    uuid NOT NULL,
  PRIMARY KEY (tenant_id, video_id, job_id)
);
SELECT platform.raise_wall('process.video_jobs');
CREATE POLICY definer_door ON process.video_jobs FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT SELECT ON process.video_jobs TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT INSERT ON process.video_jobs TO touchline_definer;
GRANT DELETE ON process.video_jobs TO touchline_system;
SET LOCAL ROLE touchline_definer; -- who alone sees those of all tenants
INSERT INTO process.video_jobs (tenant_id, video_id, job_id) SELECT j.tenant_id, j.video_id, j.id FROM process.jobs AS j;
RESET ROLE;
-- It also takes over that there is no job without its video: whoever deletes a video looks for its jobs here.
ALTER TABLE process.video_jobs
  ADD FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id);
ALTER TABLE process.jobs DROP CONSTRAINT jobs_tenant_id_video_id_fkey;
DROP INDEX process.jobs_video;

CREATE OR REPLACE FUNCTION process.guard_new_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'queued' OR NEW.retry_count <> 0 OR NEW.revision <> 1 OR NEW.was IS NOT NULL THEN
    PERFORM process.refuse(NEW.id, 'a job begins queued');
  END IF;
  IF (NEW.payload ->> 'video_id')::uuid IS DISTINCT FROM NEW.video_id THEN
    PERFORM process.refuse(NEW.id, 'its payload names another video');
  END IF;
  NEW.unique_key := process.unique_key(NEW.job_type, NEW.video_id, NEW.payload);
  -- Outputs lie under the attempt's number, so a later job of the same kind counts on.
  NEW.attempt := coalesce((
    SELECT max(earlier.attempt) FROM process.video_jobs AS v CROSS JOIN LATERAL (
      SELECT j.attempt FROM process.jobs AS j
       WHERE j.tenant_id = v.tenant_id AND j.id = v.job_id AND j.job_type = NEW.job_type OFFSET 0) AS earlier
     WHERE v.tenant_id = NEW.tenant_id AND v.video_id = NEW.video_id), 0);
  RETURN NEW;
END
$$;

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
-- After every statement: the history, the jobs of videos, children whose parent is done, and a hint to waiting workers. Who acts and why is
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
    INSERT INTO process.video_jobs (tenant_id, video_id, job_id) SELECT n.tenant_id, n.video_id, n.id FROM new_jobs AS n;
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
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
