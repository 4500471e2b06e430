-- What a connection does with jobs is planned once, not anew for each of the first calls: planning took longer than the
-- act itself, and a worker's first jobs waited for it. These plans depend on no value, and on no statistics either.
--
-- The guards look away from a claim and a completion that are already what they would make of them, whoever writes them:
-- the condition of a trigger costs a tenth of its call. Everything else goes through them as before.

ALTER FUNCTION process.enqueue(uuid, process.job_type, uuid, jsonb, integer, text, timestamptz, uuid, integer)
  SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION process.enqueue(uuid, process.job_type, uuid, jsonb, integer, text, timestamptz, uuid, integer)
  SET enable_seqscan = off;
ALTER FUNCTION process.enqueue_all(jsonb) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION process.enqueue_all(jsonb) SET enable_seqscan = off;

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
-- Of each type in the order given, highest priority first, the tenants in turn: a plain scan of jobs_claim from where the
-- lane is. A thorough claim also takes what came in behind: by a transaction that took long to commit, or by a claim that
-- was undone. Statistics may be old or missing, so the plan is not left to them.
CREATE OR REPLACE FUNCTION process.claim(
  worker text, kinds process.job_type[], most integer, lease interval, thorough boolean DEFAULT true
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at      process.lanes;
  first   record;
  granted integer;
  prefix  text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  IF thorough THEN
    PERFORM process.wake_due(1000);
  END IF;
  FOR at IN
    SELECT l.* FROM process.lanes AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    SELECT j.start_tag, j.place INTO first FROM process.jobs AS j
     WHERE j.lane = at.id AND j.status = 'queued'
       AND (j.start_tag, j.place) >= (CASE WHEN thorough THEN -1 ELSE at.virtual_time END, at.place)
     ORDER BY j.start_tag, j.place
     LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.lane = at.id AND j.status = 'queued' AND (j.start_tag, j.place) >= (first.start_tag, first.place)
         ORDER BY j.start_tag, j.place
         LIMIT most
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
        SELECT gen_random_uuid(), t.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}',
               count(*), string_agg(process.change_text(prefix, t), ',')
          FROM taken AS t
         GROUP BY t.tenant_id
      )
      SELECT * FROM taken;
    GET DIAGNOSTICS granted = ROW_COUNT;
    most := most - granted;
    IF first.start_tag - at.virtual_time + greatest(first.place - at.place, 0) > 64 THEN
      UPDATE process.lanes AS l SET virtual_time = first.start_tag, place = first.place
       WHERE (l.virtual_time, l.place) < (first.start_tag, first.place)
         AND l.id IN (SELECT x.id FROM process.lanes AS x WHERE x.id = at.id FOR UPDATE SKIP LOCKED);
    END IF;
    EXIT WHEN most <= 0;
  END LOOP;
END
$$;

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
           locked_by = NULL, locked_until = NULL, revision = j.revision + 1, was = 'processing', finished_at = now(),
           lane = NULL, parked = NULL
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

-- Both conditions are the same, so either both look away or none.
DROP TRIGGER guard_job ON process.jobs;
DROP TRIGGER guard_books ON process.jobs;
CREATE TRIGGER guard_books BEFORE UPDATE OF attempt, lane, parked, start_tag, place ON process.jobs
  FOR EACH ROW WHEN ((
    NEW.revision = OLD.revision + 1 AND NEW.was = OLD.status AND NEW.parked IS NULL AND CASE
      WHEN OLD.status = 'queued' AND NEW.status = 'processing' THEN
        OLD.parked IS NULL AND NEW.attempt = OLD.attempt + 1
        AND (NEW.lane, NEW.start_tag, NEW.place) = (OLD.lane, OLD.start_tag, OLD.place)
        AND NEW.progress_percent IS NULL AND NEW.started_at BETWEEN now() AND clock_timestamp()
      WHEN OLD.status = 'processing' AND NEW.status = 'done' THEN
        NEW.lane IS NULL AND NEW.attempt = OLD.attempt AND NEW.finished_at = now()
        AND (NEW.start_tag, NEW.place) IS NOT DISTINCT FROM (OLD.start_tag, OLD.place)
      END
  ) IS NOT TRUE) EXECUTE FUNCTION process.keep_books();
CREATE TRIGGER guard_job BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN ((
    NEW.revision = OLD.revision + 1 AND NEW.was = OLD.status AND NEW.parked IS NULL AND CASE
      WHEN OLD.status = 'queued' AND NEW.status = 'processing' THEN
        OLD.parked IS NULL AND NEW.attempt = OLD.attempt + 1
        AND (NEW.lane, NEW.start_tag, NEW.place) = (OLD.lane, OLD.start_tag, OLD.place)
        AND NEW.progress_percent IS NULL AND NEW.started_at BETWEEN now() AND clock_timestamp()
      WHEN OLD.status = 'processing' AND NEW.status = 'done' THEN
        NEW.lane IS NULL AND NEW.attempt = OLD.attempt AND NEW.finished_at = now()
        AND (NEW.start_tag, NEW.place) IS NOT DISTINCT FROM (OLD.start_tag, OLD.place)
      END
  ) IS NOT TRUE) EXECUTE FUNCTION process.guard_job();
