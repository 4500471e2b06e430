-- The job queue. A trigger allows only the arrows of this diagram, so that psql, a worker and the API obey the same rules:
--
--   queued ──> processing ──> done
--     ^            └────────> failed
--     └──────────────────────────┘
--
-- What looks like another arrow walks the diagram inside one transaction: a retry, a release and a reclaim go
-- processing → failed → queued. `failed` at rest is final: the dead letters.

CREATE TYPE process.job_type AS ENUM ('transcode', 'sample', 'ocr', 'segment_index', 'clip_generate');
CREATE TYPE process.job_status AS ENUM ('queued', 'processing', 'done', 'failed');

CREATE TABLE process.jobs (
  tenant_id        uuid NOT NULL,
  id               uuid NOT NULL DEFAULT gen_random_uuid(),
  video_id         uuid NOT NULL,
  job_type         process.job_type NOT NULL,
  status           process.job_status NOT NULL DEFAULT 'queued',
  payload          jsonb NOT NULL, -- as enqueued; after a failure {error, original_payload}
  unique_key       text NOT NULL,  -- what makes two jobs the same one, while they wait or run
  priority         integer NOT NULL DEFAULT 0,
  run_at           timestamptz NOT NULL DEFAULT now(),
  attempt          integer NOT NULL DEFAULT 0, -- the fence: grows at every claim, over all jobs of this type and video
  retry_count      integer NOT NULL DEFAULT 0,
  max_retries      integer NOT NULL DEFAULT 3 CHECK (max_retries >= 0),
  locked_by        text,
  locked_until     timestamptz,
  progress_percent smallint CHECK (progress_percent BETWEEN 0 AND 100),
  result           jsonb,
  trace            text,
  created_at       timestamptz NOT NULL DEFAULT now(),
  started_at       timestamptz,
  finished_at      timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id),
  CHECK (retry_count BETWEEN 0 AND max_retries),
  CHECK (num_nonnulls(locked_by, locked_until) = CASE WHEN status = 'processing' THEN 2 ELSE 0 END)
);
-- Rows change a few times in quick succession and then rest: leave room beside them, and clear up early.
ALTER TABLE process.jobs SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX jobs_claim ON process.jobs (job_type, priority DESC, run_at, id) WHERE status = 'queued';
CREATE INDEX jobs_lease ON process.jobs (locked_until) WHERE status = 'processing';
CREATE INDEX jobs_video ON process.jobs (tenant_id, video_id, id);
CREATE UNIQUE INDEX jobs_active ON process.jobs (tenant_id, unique_key) WHERE status IN ('queued', 'processing');
SELECT platform.raise_wall('process.jobs');
CREATE POLICY definer_door ON process.jobs TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON process.jobs TO touchline_app, touchline_worker;
GRANT SELECT ON process.jobs TO touchline_readonly, touchline_system;
GRANT SELECT, UPDATE ON process.jobs TO touchline_definer;

-- Every transition, by whom, when and why. Only the trigger below writes it.
CREATE TABLE process.job_events (
  id          bigint GENERATED ALWAYS AS IDENTITY,
  tenant_id   uuid NOT NULL,
  job_id      uuid NOT NULL,
  from_status process.job_status, -- null: it was enqueued
  to_status   process.job_status NOT NULL,
  attempt     integer NOT NULL,
  retry_count integer NOT NULL,
  actor       text NOT NULL,
  reason      text,
  occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, job_id, id)
);
SELECT platform.raise_wall('process.job_events');
CREATE POLICY definer_door ON process.job_events FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT SELECT ON process.job_events TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT INSERT ON process.job_events TO touchline_definer;

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

-- A clip is the same as another by what it asks for, everything else by the video.
CREATE FUNCTION process.unique_key(kind process.job_type, video uuid, payload jsonb) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN kind = 'clip_generate'
  THEN concat_ws(':', kind, video, payload ->> 't_start', payload ->> 't_end', payload ->> 'padding_ms')
  ELSE concat_ws(':', kind, video) END;

-- The wait before retry 1, 2 and 3.
CREATE FUNCTION process.retry_delay(retry_count integer) RETURNS interval
LANGUAGE sql VOLATILE
RETURN (ARRAY[60, 300, 900])[least(retry_count, 3)] * (0.8 + 0.4 * random()) * interval '1 second';

CREATE FUNCTION process.refuse(job uuid, why text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'job %: %', job, why USING ERRCODE = 'check_violation';
END
$$;

CREATE FUNCTION process.guard_new_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'queued' OR NEW.retry_count <> 0 OR NEW.revision <> 1 THEN
    PERFORM process.refuse(NEW.id, 'a job begins queued');
  END IF;
  IF (NEW.payload ->> 'video_id')::uuid IS DISTINCT FROM NEW.video_id THEN
    PERFORM process.refuse(NEW.id, 'its payload names another video');
  END IF;
  NEW.unique_key := process.unique_key(NEW.job_type, NEW.video_id, NEW.payload);
  -- Outputs lie under the attempt's number, so a later job of the same kind counts on.
  NEW.attempt := coalesce((
    SELECT max(j.attempt) FROM process.jobs AS j
     WHERE j.tenant_id = NEW.tenant_id AND j.video_id = NEW.video_id AND j.job_type = NEW.job_type), 0);
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_new_job BEFORE INSERT ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.guard_new_job();

CREATE FUNCTION process.guard_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'done' THEN
    PERFORM process.refuse(OLD.id, 'it is done and stays as it is');
  END IF;
  IF (NEW.tenant_id, NEW.id, NEW.video_id, NEW.job_type, NEW.unique_key, NEW.created_at)
     IS DISTINCT FROM (OLD.tenant_id, OLD.id, OLD.video_id, OLD.job_type, OLD.unique_key, OLD.created_at)
     OR process.original_payload(NEW.payload) <> process.original_payload(OLD.payload) THEN
    PERFORM process.refuse(OLD.id, 'what it is cannot change');
  END IF;
  NEW.revision := OLD.revision + 1;
  NEW.attempt := OLD.attempt;
  IF NEW.status = OLD.status THEN
    IF NEW.retry_count <> OLD.retry_count THEN
      PERFORM process.refuse(OLD.id, 'only going back to the queue counts as a retry');
    END IF;
    RETURN NEW;
  END IF;
  CASE OLD.status || ' ' || NEW.status
    WHEN 'queued processing' THEN
      NEW.attempt := OLD.attempt + 1;
      NEW.started_at := clock_timestamp();
      NEW.progress_percent := NULL;
    WHEN 'processing done', 'processing failed' THEN
      NEW.finished_at := now();
    WHEN 'failed queued' THEN
      -- In the transaction that failed it, it only passes through; later, only a retry that starts at 0 brings it back.
      IF NEW.retry_count <> 0 AND (OLD.finished_at <> now() OR NEW.retry_count - OLD.retry_count NOT IN (0, 1)) THEN
        PERFORM process.refuse(OLD.id, 'it has failed for good');
      END IF;
      NEW.finished_at := NULL;
    ELSE
      PERFORM process.refuse(OLD.id, format('it cannot go from %s to %s', OLD.status, NEW.status));
  END CASE;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_job BEFORE UPDATE ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.guard_job();

-- After every statement: the history, and a hint to waiting workers. Who acts is told by the setting process.actor.
CREATE FUNCTION process.record_transitions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  actor text := coalesce(nullif(current_setting('process.actor', true), ''), session_user);
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO process.job_events (tenant_id, job_id, to_status, attempt, retry_count, actor)
    SELECT n.tenant_id, n.id, n.status, n.attempt, n.retry_count, actor FROM new_jobs AS n;
  ELSE
    INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
    SELECT n.tenant_id, n.id, o.status, n.status, n.attempt, n.retry_count, actor,
           CASE WHEN 'failed' IN (o.status, n.status)
                THEN concat_ws(': ', n.payload #>> '{error,type}', n.payload #>> '{error,message}') END
      FROM new_jobs AS n JOIN old_jobs AS o ON o.tenant_id = n.tenant_id AND o.id = n.id
     WHERE o.status <> n.status;
  END IF;
  IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.status = 'queued' AND n.run_at <= clock_timestamp()) THEN
    PERFORM pg_notify('touchline_jobs', '');
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER record_new_jobs AFTER INSERT ON process.jobs REFERENCING NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION process.record_transitions();
CREATE TRIGGER record_transitions AFTER UPDATE ON process.jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION process.record_transitions();
REVOKE EXECUTE ON FUNCTION process.record_transitions() FROM PUBLIC;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the function over
ALTER FUNCTION process.record_transitions() OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
