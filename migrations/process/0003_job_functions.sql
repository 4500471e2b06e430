-- What workers and the API do with jobs. Each answers the job as it is now, or nothing when it was refused: another
-- attempt holds it, the lease is over, or one like it is waiting already.

CREATE FUNCTION process.enqueue(
  new_id uuid, kind process.job_type, video uuid, payload jsonb, priority integer DEFAULT 0, trace text DEFAULT NULL
) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload, priority, trace)
  VALUES (platform.current_tenant(), new_id, video, kind, payload, priority, trace)
  ON CONFLICT (tenant_id, unique_key) WHERE status IN ('queued', 'processing') DO NOTHING
  RETURNING *
$$;

CREATE FUNCTION process.heartbeat(job uuid, held integer, lease interval) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET locked_until = clock_timestamp() + lease
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

CREATE FUNCTION process.progress(job uuid, held integer, percent integer) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET progress_percent = greatest(progress_percent, percent)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

CREATE FUNCTION process.complete(worker text, job uuid, held integer, outcome jsonb) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  SELECT set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'done', result = outcome, progress_percent = 100, locked_by = NULL, locked_until = NULL
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

-- A failed job goes back to the queue, in the transaction in which it failed.
CREATE FUNCTION process.requeue(failed process.jobs, retries integer, not_before timestamptz) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET status = 'queued', retry_count = retries, run_at = not_before
   WHERE tenant_id = failed.tenant_id AND id = failed.id AND status = 'failed'
  RETURNING *
$$;

-- Three retries, after 60, 300 and 900 s (each × 0.8 to 1.2); what no retry would help fails for good at once.
CREATE FUNCTION process.fail(
  worker text, job uuid, held integer, error_type text, error_message text, retryable boolean
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, error_type, error_message, retry_count)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING * INTO failed;
  IF NOT FOUND THEN
    RETURN;
  ELSIF retryable AND failed.retry_count < failed.max_retries THEN
    RETURN QUERY SELECT * FROM process.requeue(
      failed, failed.retry_count + 1, now() + process.retry_delay(failed.retry_count + 1));
  ELSE
    RETURN NEXT failed;
  END IF;
END
$$;

-- A worker that stops gives its job back: no retry is used up, and the job keeps its place.
CREATE FUNCTION process.release(worker text, job uuid, held integer, why text) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  released process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, 'Released', why, retry_count)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING * INTO released;
  IF FOUND THEN
    RETURN QUERY SELECT * FROM process.requeue(released, released.retry_count, released.run_at);
  END IF;
END
$$;

-- The three that look over the wall: a worker does not know the tenant before it has the job.

-- Of each type in the order given, highest priority first, then longest due: a plain scan of jobs_claim. The type is
-- in the order although it is one: behind a wall the planner takes nothing from comparing enums, which may leak.
CREATE FUNCTION process.claim(worker text, kinds process.job_type[], most integer, lease interval)
RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  kind  process.job_type;
  taken integer;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOREACH kind IN ARRAY kinds LOOP
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.tenant_id, j.id FROM process.jobs AS j
         WHERE j.status = 'queued' AND j.job_type = kind AND j.run_at <= now()
         ORDER BY j.job_type, j.priority DESC, j.run_at, j.id
         LIMIT most
           FOR UPDATE SKIP LOCKED
      )
      UPDATE process.jobs AS j
         SET status = 'processing', locked_by = worker, locked_until = clock_timestamp() + lease
        FROM due
       WHERE j.tenant_id = due.tenant_id AND j.id = due.id
      RETURNING j.*;
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := most - taken;
    EXIT WHEN most <= 0;
  END LOOP;
END
$$;

-- What a worker holds: for one whose connection broke in the middle of a claim.
CREATE FUNCTION process.held(worker text) RETURNS SETOF process.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM process.jobs WHERE status = 'processing' AND locked_until > now() AND locked_by = worker
$$;

-- Leases that are over: whoever had them is dead, frozen or cut off, and that counts as a retry. No further wait.
CREATE FUNCTION process.reclaim(worker text, most integer) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lost   process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOR lost IN
    SELECT * FROM process.jobs
     WHERE status = 'processing' AND locked_until <= now()
     ORDER BY locked_until
     LIMIT most
       FOR UPDATE SKIP LOCKED
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
    END IF;
  END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION
  process.claim(text, process.job_type[], integer, interval), process.held(text), process.reclaim(text, integer)
  FROM PUBLIC;
-- Without a login of their own, workers connect as the application.
GRANT EXECUTE ON FUNCTION
  process.claim(text, process.job_type[], integer, interval), process.held(text), process.reclaim(text, integer)
  TO touchline_worker, touchline_app;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.claim(text, process.job_type[], integer, interval) OWNER TO touchline_definer;
ALTER FUNCTION process.held(text) OWNER TO touchline_definer;
ALTER FUNCTION process.reclaim(text, integer) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
