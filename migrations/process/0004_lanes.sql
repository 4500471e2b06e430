-- Lanes: what may be claimed now, in the order in which it is. A lane is a type of job with a priority; in it the tenants
-- take turns, by a virtual start tag that a job gets when it enters (start-time fair queueing). What must wait, for its
-- time or for another job, stands in no lane, so that a claim never steps over it.
--
-- A claim and a heartbeat change nothing that stands in an index, the conditions of indexes included: the new row then
-- lies beside the old one and no index hears of it. So a job keeps its lane while it runs, and no index asks for `status`.

ALTER TABLE process.jobs
  ADD COLUMN depends_on uuid,
  ADD COLUMN lane       integer, -- while it waits and runs, unless it is parked
  ADD COLUMN parked     text CHECK (parked IN ('time', 'parent')), -- nobody may claim it now
  ADD COLUMN start_tag  bigint,
  ADD COLUMN place      bigint,
  ADD FOREIGN KEY (tenant_id, depends_on) REFERENCES process.jobs (tenant_id, id),
  ADD CHECK (depends_on <> id),
  ADD CHECK (priority BETWEEN -100 AND 100),
  ADD COLUMN dead       boolean GENERATED ALWAYS AS (status = 'failed') STORED;
SET LOCAL ROLE touchline_definer;
UPDATE process.jobs SET parked = 'time' WHERE status = 'processing';
RESET ROLE;
ALTER TABLE process.jobs
  ADD CHECK (num_nonnulls(lane, parked) = CASE WHEN status IN ('queued', 'processing') THEN 1 ELSE 0 END) NOT VALID; -- what waits already is placed below

-- Where each lane is: no job that enters later gets a tag below it. A claim begins to read here, and so it does not
-- step over what was claimed before, which stays in the index as long as an old transaction might look at it.
CREATE TABLE process.lanes (
  id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_type     process.job_type NOT NULL,
  priority     integer NOT NULL,
  virtual_time bigint NOT NULL DEFAULT 0,
  place        bigint NOT NULL DEFAULT 0,
  UNIQUE (job_type, priority)
);
ALTER TABLE process.lanes SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
GRANT SELECT ON process.lanes TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT SELECT, INSERT, UPDATE ON process.lanes TO touchline_definer;

CREATE SEQUENCE process.places CACHE 1;
-- When the last wake-up was sent, in milliseconds. A sequence, because it changes without leaving old versions behind.
CREATE SEQUENCE process.woken_at_ms;
GRANT USAGE ON SEQUENCE process.places TO touchline_definer;
GRANT SELECT, UPDATE ON SEQUENCE process.woken_at_ms TO touchline_definer;

-- All jobs of a page are claimed together: there must be room for all of them beside. What a claim leaves behind is
-- cleared up by whoever comes to the page next, so there is less left for the vacuum.
ALTER TABLE process.jobs SET (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1);
ALTER TABLE process.jobs ALTER COLUMN payload SET STATISTICS 0, ALTER COLUMN result SET STATISTICS 0; -- nobody asks for them

DROP INDEX process.jobs_claim, process.jobs_active, process.jobs_lease;
CREATE UNIQUE INDEX jobs_active ON process.jobs (tenant_id, unique_key) WHERE lane IS NOT NULL OR parked IS NOT NULL;
CREATE INDEX jobs_claim ON process.jobs (lane, start_tag, place) WHERE lane IS NOT NULL;
CREATE INDEX jobs_turns ON process.jobs (tenant_id, lane, start_tag) WHERE lane IS NOT NULL;
CREATE INDEX jobs_due ON process.jobs (run_at) WHERE parked = 'time';
CREATE INDEX jobs_children ON process.jobs (tenant_id, depends_on) WHERE depends_on IS NOT NULL;
CREATE INDEX jobs_dead ON process.jobs (tenant_id, id) WHERE dead;

-- Every claim leaves a slip, and so whatever runs is found without an index on it. A slip whose claim has ended is
-- cleared away by whoever looks for leases that are over.
CREATE TABLE process.slips (
  tenant_id uuid NOT NULL,
  job_id    uuid NOT NULL
);
ALTER TABLE process.slips SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
SELECT platform.raise_wall('process.slips');
CREATE POLICY definer_door ON process.slips TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT ON process.slips TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON process.slips TO touchline_definer;

CREATE FUNCTION process.lane_of(kind process.job_type, wanted integer) RETURNS process.lanes
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made process.lanes;
BEGIN
  INSERT INTO process.lanes (job_type, priority) VALUES (kind, wanted) ON CONFLICT (job_type, priority) DO NOTHING;
  SELECT * INTO made FROM process.lanes AS l WHERE l.job_type = kind AND l.priority = wanted;
  RETURN made;
END
$$;

-- Gives a job that waits its place, or parks it. Never the writer's to decide.
CREATE FUNCTION process.place_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at   process.lanes;
  last bigint;
BEGIN
  NEW.lane := NULL;
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
  SELECT * INTO at FROM process.lanes AS l WHERE l.job_type = NEW.job_type AND l.priority = NEW.priority;
  IF NOT FOUND THEN
    at := process.lane_of(NEW.job_type, NEW.priority);
  END IF;
  NEW.lane := at.id;
  IF TG_OP = 'UPDATE' THEN
    IF OLD.lane = at.id THEN
      RETURN NEW;
    ELSIF OLD.start_tag IS NOT NULL AND OLD.status = 'failed' AND OLD.finished_at = now()
          AND NEW.retry_count = OLD.retry_count AND NEW.priority = OLD.priority THEN
      -- Given back: it keeps its turn, as far as the lane has not passed it.
      NEW.start_tag := greatest(OLD.start_tag, at.virtual_time);
      NEW.place := CASE WHEN NEW.start_tag = at.virtual_time THEN greatest(OLD.place, at.place) ELSE OLD.place END;
      RETURN NEW;
    END IF;
  END IF;
  SELECT j.start_tag INTO last FROM process.jobs AS j
   WHERE j.tenant_id = NEW.tenant_id AND j.lane = at.id AND j.start_tag >= at.virtual_time
   ORDER BY j.start_tag DESC
   LIMIT 1;
  NEW.start_tag := coalesce(last + 1, at.virtual_time);
  NEW.place := nextval('process.places');
  RETURN NEW;
END
$$;

-- What no update may do. Conditions of triggers cost much less than statements inside.
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
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION process.guard_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.attempt := OLD.attempt;
  NEW.lane := OLD.lane; -- what waits is placed by the next trigger
  NEW.parked := OLD.parked;
  NEW.start_tag := OLD.start_tag;
  NEW.place := OLD.place;
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
    NEW.lane := NULL;
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

-- Triggers fire by name: the guards first, then the place.
CREATE TRIGGER place_new_job BEFORE INSERT ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.place_job();
CREATE TRIGGER guard_change BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN (
    OLD.status = 'done' OR (NEW.status = OLD.status AND NEW.retry_count <> OLD.retry_count) OR NEW.payload <> OLD.payload
    OR (NEW.tenant_id, NEW.id, NEW.video_id, NEW.job_type, NEW.unique_key, NEW.created_at, NEW.depends_on)
       IS DISTINCT FROM
       (OLD.tenant_id, OLD.id, OLD.video_id, OLD.job_type, OLD.unique_key, OLD.created_at, OLD.depends_on)
  ) EXECUTE FUNCTION process.refuse_change();
CREATE TRIGGER place_waiting_job BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION process.place_job();

REVOKE EXECUTE ON FUNCTION process.lane_of(process.job_type, integer), process.place_job() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.lane_of(process.job_type, integer) TO touchline_definer;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.lane_of(process.job_type, integer) OWNER TO touchline_definer;
ALTER FUNCTION process.place_job() OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;

-- What waits already gets its place.
SET LOCAL ROLE touchline_definer;
UPDATE process.jobs SET run_at = run_at WHERE status = 'queued';
RESET ROLE;
