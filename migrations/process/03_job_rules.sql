-- The rules of jobs, as triggers: whoever writes, and however, these hold. Triggers fire in the order of their names:
-- first those that guard what may change, then those that place a waiting job in its band, then, after the statement,
-- the history.

CREATE FUNCTION process.original_payload(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN payload ?& ARRAY['error', 'original_payload'] THEN payload -> 'original_payload' ELSE payload END;

CREATE FUNCTION process.failed_payload(payload jsonb, error_type text, error_message text, retry_count integer)
RETURNS jsonb
LANGUAGE sql STABLE
RETURN jsonb_build_object(
  'error', jsonb_build_object(
    'type', error_type, 'message', error_message, 'retry_count', retry_count,
    'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
  'original_payload', process.original_payload(payload));

-- A payload beside its last failure, as process.failed_payload makes it, and nothing more.
CREATE FUNCTION process.is_failed_payload(payload jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN jsonb_typeof(payload -> 'error') = 'object' AND payload ? 'original_payload' THEN coalesce(
    payload - ARRAY['error', 'original_payload'] = '{}'
    AND (payload -> 'error') - ARRAY['type', 'message', 'retry_count', 'timestamp'] = '{}'
    AND jsonb_typeof(payload #> '{error,type}') = 'string' AND jsonb_typeof(payload #> '{error,message}') = 'string'
    AND payload #>> '{error,retry_count}' ~ '^\d{1,9}$'
    AND payload #>> '{error,timestamp}' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$', false)
  ELSE false END;

-- A clip job is the same as another by what it asks for, every other job by its video.
CREATE FUNCTION process.unique_key(kind process.job_type, video uuid, payload jsonb) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN kind = 'clip_generate'
  THEN concat_ws(':', kind, video, payload ->> 't_start', payload ->> 't_end', payload ->> 'padding_ms')
  ELSE concat_ws(':', kind, video) END;

CREATE FUNCTION process.refuse(job uuid, why text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'job %: %', job, why USING ERRCODE = 'check_violation';
END
$$;

-- A new job: rows that nobody could read, or bear, are refused when they are written.
CREATE FUNCTION process.guard_new_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'queued' OR NEW.retry_count <> 0 OR NEW.revision <> 1 OR NEW.was IS NOT NULL THEN
    PERFORM process.refuse(NEW.id, 'a job begins queued');
  END IF;
  IF NEW.payload ?| ARRAY['error', 'original_payload'] THEN
    PERFORM process.refuse(NEW.id, 'its payload stands beside an error already: enqueue the original payload');
  END IF;
  IF pg_column_size(NEW.payload) > 1048576 THEN
    PERFORM process.refuse(NEW.id, 'its payload is larger than 1 MiB');
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
CREATE TRIGGER guard_new_job BEFORE INSERT ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.guard_new_job();

-- The job that this one depends on exists before it, so that no chain of jobs is a circle; and the chain is short,
-- because its end is recorded in one transaction.
CREATE FUNCTION process.guard_parents() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  longest CONSTANT integer := 32;
  parent  uuid := NEW.depends_on;
BEGIN
  FOR step IN 1 .. longest LOOP
    SELECT j.depends_on INTO parent FROM process.jobs AS j WHERE j.tenant_id = NEW.tenant_id AND j.id = parent;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'job %: the job that it depends on is not there', NEW.id
        USING ERRCODE = 'foreign_key_violation', HINT = 'Enqueue that one first.';
    ELSIF parent IS NULL THEN
      RETURN NEW;
    END IF;
  END LOOP;
  PERFORM process.refuse(NEW.id, format('more than %s jobs would have to be done before it', longest));
END
$$;
CREATE TRIGGER guard_parents BEFORE INSERT ON process.jobs
  FOR EACH ROW WHEN (NEW.depends_on IS NOT NULL) EXECUTE FUNCTION process.guard_parents();

-- What no update may do.
CREATE FUNCTION process.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'done' THEN
    PERFORM process.refuse(OLD.id, 'it is done and stays as it is');
  ELSIF NEW.status = OLD.status AND NEW.retry_count <> OLD.retry_count THEN
    PERFORM process.refuse(OLD.id, 'only going back to the queue counts as a retry');
  ELSIF (NEW.tenant_id, NEW.id, NEW.video_id, NEW.job_type, NEW.unique_key, NEW.created_at, NEW.depends_on)
     IS DISTINCT FROM
     (OLD.tenant_id, OLD.id, OLD.video_id, OLD.job_type, OLD.unique_key, OLD.created_at, OLD.depends_on)
     OR process.original_payload(NEW.payload) <> process.original_payload(OLD.payload) THEN
    PERFORM process.refuse(OLD.id, 'what it is cannot change');
  ELSIF NEW.payload <> OLD.payload AND NEW.payload ? 'original_payload'
        AND NOT (process.is_failed_payload(NEW.payload) AND pg_column_size(NEW.payload) <= 2097152) THEN
    PERFORM process.refuse(OLD.id, 'what stands beside its payload is not an error as process.fail writes it');
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_change BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN (OLD.status = 'done' OR (NEW.status = OLD.status AND NEW.retry_count <> OLD.retry_count))
  EXECUTE FUNCTION process.refuse_change();
CREATE TRIGGER guard_identity
  BEFORE UPDATE OF tenant_id, id, video_id, job_type, unique_key, created_at, depends_on, payload ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.refuse_change();

-- Columns that no writer may decide are reset when a statement names them.
--
-- This guard and the next have the same condition: they skip a claim and a completion that are already what they would
-- make of them, whoever writes them, because the condition of a trigger costs a tenth of its call. Everything else goes
-- through them.
CREATE FUNCTION process.keep_books() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.attempt := OLD.attempt;
  NEW.band := OLD.band;
  NEW.parked := OLD.parked;
  NEW.start_tag := OLD.start_tag;
  NEW.place := OLD.place;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_books BEFORE UPDATE OF attempt, band, parked, start_tag, place ON process.jobs
  FOR EACH ROW WHEN ((
    NEW.revision = OLD.revision + 1 AND NEW.was = OLD.status AND NEW.parked IS NULL AND CASE
      WHEN OLD.status = 'queued' AND NEW.status = 'processing' THEN
        OLD.parked IS NULL AND NEW.attempt = OLD.attempt + 1
        AND (NEW.band, NEW.start_tag, NEW.place) = (OLD.band, OLD.start_tag, OLD.place)
        AND NEW.progress_percent IS NULL AND NEW.started_at BETWEEN now() AND clock_timestamp()
      WHEN OLD.status = 'processing' AND NEW.status = 'done' THEN
        NEW.band IS NULL AND NEW.attempt = OLD.attempt AND NEW.finished_at = now()
        AND (NEW.start_tag, NEW.place) IS NOT DISTINCT FROM (OLD.start_tag, OLD.place)
      END
  ) IS NOT TRUE) EXECUTE FUNCTION process.keep_books();

-- The arrows of the diagram.
CREATE FUNCTION process.guard_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.was := OLD.status;
  IF NEW.status = OLD.status THEN
    RETURN NEW;
  ELSIF OLD.status = 'queued' AND NEW.status = 'processing' THEN
    IF OLD.parked = 'parent' AND NEW.locked_until > clock_timestamp() THEN
      PERFORM process.refuse(OLD.id, 'the job that it depends on is not done');
    END IF;
    NEW.attempt := OLD.attempt + 1;
    NEW.started_at := clock_timestamp();
    NEW.progress_percent := NULL;
  ELSIF OLD.status = 'processing' AND NEW.status IN ('done', 'failed') THEN
    NEW.finished_at := now();
    NEW.band := NULL;
    NEW.parked := NULL;
  ELSIF OLD.status = 'failed' AND NEW.status = 'queued' THEN
    -- In the transaction that failed it, it only passes through; later, only a retry that starts at 0 brings it back.
    IF NEW.retry_count <> 0 AND (OLD.finished_at <> now() OR NEW.retry_count - OLD.retry_count NOT IN (0, 1)) THEN
      PERFORM process.refuse(OLD.id, 'it has failed for good');
    END IF;
    NEW.finished_at := NULL;
  ELSE
    PERFORM process.refuse(OLD.id, format('it cannot go from %s to %s', OLD.status, NEW.status));
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_job BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN ((
    NEW.revision = OLD.revision + 1 AND NEW.was = OLD.status AND NEW.parked IS NULL AND CASE
      WHEN OLD.status = 'queued' AND NEW.status = 'processing' THEN
        OLD.parked IS NULL AND NEW.attempt = OLD.attempt + 1
        AND (NEW.band, NEW.start_tag, NEW.place) = (OLD.band, OLD.start_tag, OLD.place)
        AND NEW.progress_percent IS NULL AND NEW.started_at BETWEEN now() AND clock_timestamp()
      WHEN OLD.status = 'processing' AND NEW.status = 'done' THEN
        NEW.band IS NULL AND NEW.attempt = OLD.attempt AND NEW.finished_at = now()
        AND (NEW.start_tag, NEW.place) IS NOT DISTINCT FROM (OLD.start_tag, OLD.place)
      END
  ) IS NOT TRUE) EXECUTE FUNCTION process.guard_job();

CREATE FUNCTION process.priority_band_of(kind process.job_type, wanted integer) RETURNS process.priority_bands
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made process.priority_bands;
BEGIN
  INSERT INTO process.priority_bands (job_type, priority) VALUES (kind, wanted) ON CONFLICT (job_type, priority) DO NOTHING;
  SELECT * INTO made FROM process.priority_bands AS l WHERE l.job_type = kind AND l.priority = wanted;
  RETURN made;
END
$$;

-- Places a waiting job in its priority band, or parks it. Never the writer's to decide.
CREATE FUNCTION process.place_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at   process.priority_bands;
  last bigint;
BEGIN
  NEW.band := NULL;
  NEW.parked := NULL;
  -- The lock orders us and the parent's end: either it sees this job, or we see how it ended.
  IF NEW.depends_on IS NOT NULL AND 'done' IS DISTINCT FROM (
    SELECT p.status FROM process.jobs AS p WHERE p.tenant_id = NEW.tenant_id AND p.id = NEW.depends_on FOR SHARE
  ) THEN
    NEW.parked := 'parent';
    RETURN NEW;
  END IF;
  IF NEW.run_at > clock_timestamp() THEN
    NEW.parked := 'time';
    RETURN NEW;
  END IF;
  SELECT * INTO at FROM process.priority_bands AS l WHERE l.job_type = NEW.job_type AND l.priority = NEW.priority;
  IF NOT FOUND THEN
    at := process.priority_band_of(NEW.job_type, NEW.priority);
  END IF;
  NEW.band := at.id;
  IF TG_OP = 'UPDATE' THEN
    IF OLD.band = at.id THEN
      RETURN NEW;
    ELSIF OLD.start_tag IS NOT NULL AND OLD.status = 'failed' AND OLD.finished_at = now()
          AND NEW.retry_count = OLD.retry_count AND NEW.priority = OLD.priority THEN
      -- Given back: it keeps its turn, as far as the band has not passed it.
      NEW.start_tag := greatest(OLD.start_tag, at.virtual_time);
      NEW.place := CASE WHEN NEW.start_tag = at.virtual_time THEN greatest(OLD.place, at.place) ELSE OLD.place END;
      RETURN NEW;
    END IF;
  END IF;
  SELECT j.start_tag INTO last FROM process.jobs AS j
   WHERE j.tenant_id = NEW.tenant_id AND j.band = at.id AND j.start_tag >= at.virtual_time
   ORDER BY j.start_tag DESC
   LIMIT 1;
  NEW.start_tag := coalesce(last + 1, at.virtual_time);
  NEW.place := nextval('process.places');
  RETURN NEW;
END
$$;
CREATE TRIGGER place_new_job BEFORE INSERT ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.place_job();
CREATE TRIGGER place_waiting_job BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION process.place_job();

-- A queued job that nobody runs goes to its end by way of `processing`, with a lease that is over at once.
CREATE FUNCTION process.walk_to_failed(job process.jobs, error_type text, error_message text) RETURNS process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  failed process.jobs;
BEGIN
  UPDATE process.jobs SET status = 'processing', locked_by = coalesce(current_setting('process.actor', true), ''),
         locked_until = now()
   WHERE tenant_id = job.tenant_id AND id = job.id AND status = 'queued';
  UPDATE process.jobs SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, error_type, error_message, retry_count)
   WHERE tenant_id = job.tenant_id AND id = job.id AND status = 'processing'
  RETURNING * INTO failed;
  RETURN failed;
END
$$;

-- What waits for a job that has failed for good fails too, and what waits for that. Returns the jobs that failed.
CREATE FUNCTION process.fail_children(parent process.jobs) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  child  process.jobs;
  failed process.jobs;
BEGIN
  FOR child IN
    SELECT * FROM process.jobs
     WHERE tenant_id = parent.tenant_id AND depends_on = parent.id AND status = 'queued'
     ORDER BY id FOR UPDATE
  LOOP
    failed := process.walk_to_failed(child, 'ParentFailed', format(
      '%s job %s failed: %s', parent.job_type, parent.id,
      concat_ws(': ', parent.payload #>> '{error,type}', left(parent.payload #>> '{error,message}', 500))));
    RETURN NEXT failed;
    RETURN QUERY SELECT * FROM process.fail_children(failed);
  END LOOP;
END
$$;

-- Whoever fails a job by plain SQL fails what waits for it as well: at the end of the transaction, when it is known
-- whether the job only passed through.
CREATE FUNCTION process.fail_children_at_commit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM process.fail_children(j) FROM process.jobs AS j
    WHERE j.tenant_id = NEW.tenant_id AND j.id = NEW.id AND j.status = 'failed';
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER fail_children AFTER UPDATE ON process.jobs DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.status = 'failed' AND OLD.status <> 'failed') EXECUTE FUNCTION process.fail_children_at_commit();

-- After every statement: the history, the jobs of videos, the claims, children whose parent is done, and a wake-up for
-- waiting workers. The settings process.actor and process.reason say who acts and why.
CREATE FUNCTION process.record_transitions() RETURNS trigger
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
    INSERT INTO process.job_claims (tenant_id, jobs)
    SELECT n.tenant_id, array_agg(n.id) FROM new_jobs AS n WHERE n.status = 'processing' AND n.was = 'queued'
     GROUP BY n.tenant_id;
    IF EXISTS (SELECT 1 FROM new_jobs AS n CROSS JOIN LATERAL (
                 SELECT 1 FROM process.jobs AS c WHERE c.tenant_id = n.tenant_id AND c.depends_on = n.id LIMIT 1) AS child
                WHERE n.status = 'done') THEN
      UPDATE process.jobs AS c SET run_at = c.run_at FROM new_jobs AS n
       WHERE n.status = 'done' AND c.tenant_id = n.tenant_id AND c.depends_on = n.id AND c.parked = 'parent';
    END IF;
  END IF;
  IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.status = 'queued' AND n.band IS NOT NULL) THEN
    -- One wake-up in 5 ms is enough: whoever was woken looks once more shortly after.
    now_ms := extract(epoch FROM clock_timestamp()) * 1000;
    IF (SELECT s.last_value FROM process.woken_at_ms AS s) NOT BETWEEN now_ms - 4 AND now_ms THEN
      PERFORM setval('process.woken_at_ms', now_ms), pg_notify('touchline_jobs', '');
    END IF;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER record_new_jobs AFTER INSERT ON process.jobs REFERENCING NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION process.record_transitions();
CREATE TRIGGER record_transitions AFTER UPDATE ON process.jobs REFERENCING NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION process.record_transitions();

CREATE FUNCTION process.record_priority() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
  VALUES (NEW.tenant_id, NEW.id, NEW.status, NEW.status, NEW.attempt, NEW.retry_count,
          coalesce(nullif(current_setting('process.actor', true), ''), session_user),
          format('priority %s, was %s', NEW.priority, OLD.priority));
  RETURN NULL;
END
$$;
CREATE TRIGGER record_priority AFTER UPDATE OF priority ON process.jobs
  FOR EACH ROW WHEN (NEW.priority <> OLD.priority) EXECUTE FUNCTION process.record_priority();

REVOKE EXECUTE ON FUNCTION process.priority_band_of(process.job_type, integer), process.place_job(), process.fail_children_at_commit(),
  process.record_transitions(), process.record_priority() FROM PUBLIC;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.priority_band_of(process.job_type, integer) OWNER TO touchline_definer;
ALTER FUNCTION process.place_job() OWNER TO touchline_definer;
ALTER FUNCTION process.fail_children_at_commit() OWNER TO touchline_definer;
ALTER FUNCTION process.record_transitions() OWNER TO touchline_definer;
ALTER FUNCTION process.record_priority() OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
