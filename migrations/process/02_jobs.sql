-- The job queue. A trigger allows only the arrows of this diagram, so that psql, a worker and the API obey the same rules:
--
--   queued ──> processing ──> done
--     ^            └────────> failed
--     └──────────────────────────┘
--
-- What looks like another arrow follows the diagram inside one transaction: a retry, a release and a reclaim go
-- processing → failed → queued. `failed` at rest is final: the dead letters.

CREATE TYPE process.job_type AS ENUM ('transcode', 'sample', 'ocr', 'segment_index', 'clip_generate');
CREATE TYPE process.job_status AS ENUM ('queued', 'processing', 'done', 'failed');

-- A UUIDv7, as the product's own jobs have it: ids that rise with time say which job is newer, in lists and where a
-- retry counts.
CREATE FUNCTION process.new_job_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN encode(set_bit(set_bit(overlay(
  uuid_send(gen_random_uuid())
  PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
), 52, 1), 53, 1), 'hex')::uuid;

-- Priority bands hold what may be claimed now, in order. A band is a type of job with a priority; in it the tenants
-- take turns by a virtual start tag that a job gets when it enters (start-time fair queueing). A job that must wait,
-- for its time or for another job, is in no band, so that a claim never steps over it.
--
-- A claim and a heartbeat change no indexed column, index conditions included: the new row version then stays on the
-- page of the old one (HOT) and no index is written. So a job keeps its band while it runs, and no index has `status`
-- as a condition.
CREATE TABLE process.jobs (
  tenant_id        uuid NOT NULL,
  id               uuid NOT NULL DEFAULT process.new_job_id(),
  video_id         uuid NOT NULL, -- process.video_jobs has the foreign key
  job_type         process.job_type NOT NULL,
  status           process.job_status NOT NULL DEFAULT 'queued',
  payload          jsonb NOT NULL, -- as enqueued; after a failure {error, original_payload}
  unique_key       text NOT NULL,  -- what makes two jobs the same one, while they wait or run
  priority         integer NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
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
  depends_on       uuid,
  band             integer, -- its priority band while it waits and runs, unless it is parked
  parked           text CHECK (parked IN ('time', 'parent')), -- nobody may claim it now
  start_tag        bigint,
  place            bigint,
  dead             boolean GENERATED ALWAYS AS (status = 'failed') STORED,
  was              process.job_status, -- the status before the last change, so that the history need not join the old rows
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, depends_on) REFERENCES process.jobs (tenant_id, id),
  CHECK (retry_count BETWEEN 0 AND max_retries),
  CHECK (num_nonnulls(locked_by, locked_until) = CASE WHEN status = 'processing' THEN 2 ELSE 0 END),
  CHECK (depends_on <> id),
  CHECK (num_nonnulls(band, parked) = CASE WHEN status IN ('queued', 'processing') THEN 1 ELSE 0 END),
  -- No infinity, and no year that clients have no date for: one such row would stop every list and worker that meets it.
  CONSTRAINT jobs_times_are_dates CHECK (
    run_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND locked_until BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND started_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND finished_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'),
  CONSTRAINT jobs_results_are_of_done CHECK (
    result IS NULL OR (status = 'done' AND pg_column_size(result) <= 1048576)),
  -- A claim reports the traces of all its jobs in one text, which has a limit.
  CONSTRAINT jobs_traces_are_short CHECK (octet_length(trace) <= 1000)
);
-- All jobs of a page are claimed together: the page needs room for a second version of each. What a claim leaves behind
-- is pruned by the next access to the page, so there is little left for autovacuum.
ALTER TABLE process.jobs SET (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1);
ALTER TABLE process.jobs ALTER COLUMN payload SET STATISTICS 0, ALTER COLUMN result SET STATISTICS 0; -- no query filters by them
CREATE UNIQUE INDEX jobs_active ON process.jobs (tenant_id, unique_key) WHERE band IS NOT NULL OR parked IS NOT NULL;
CREATE INDEX jobs_claim ON process.jobs (band, start_tag, place) WHERE band IS NOT NULL;
CREATE INDEX jobs_turns ON process.jobs (tenant_id, band, start_tag) WHERE band IS NOT NULL;
CREATE INDEX jobs_due ON process.jobs (run_at) WHERE parked = 'time';
CREATE INDEX jobs_children ON process.jobs (tenant_id, depends_on) WHERE depends_on IS NOT NULL;
CREATE INDEX jobs_dead ON process.jobs (tenant_id, id) WHERE dead;
-- Jobs end roughly in the order in which they came: an index of ranges is enough, and costs the end of a job nothing.
CREATE INDEX jobs_finished ON process.jobs USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on);
SELECT platform.enable_row_level_security('process.jobs');
CREATE POLICY definer_door ON process.jobs TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON process.jobs TO touchline_app, touchline_worker;
GRANT SELECT ON process.jobs TO touchline_readonly;
GRANT SELECT, DELETE ON process.jobs TO touchline_system;
GRANT SELECT, UPDATE ON process.jobs TO touchline_definer;

-- Where each band is: no job that enters later gets a tag below it. A claim starts reading here, so that it does not
-- step over jobs that were claimed before, whose index entries stay while an old transaction might read them.
CREATE TABLE process.priority_bands (
  id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_type     process.job_type NOT NULL,
  priority     integer NOT NULL,
  virtual_time bigint NOT NULL DEFAULT 0,
  place        bigint NOT NULL DEFAULT 0,
  UNIQUE (job_type, priority)
);
ALTER TABLE process.priority_bands SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
GRANT SELECT ON process.priority_bands TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT SELECT, INSERT, UPDATE ON process.priority_bands TO touchline_definer;

CREATE SEQUENCE process.places CACHE 1;
GRANT USAGE ON SEQUENCE process.places TO touchline_definer;
-- When the last wake-up was sent, in milliseconds. A sequence, because it changes without leaving dead rows behind.
CREATE SEQUENCE process.woken_at_ms;
GRANT SELECT, UPDATE ON SEQUENCE process.woken_at_ms TO touchline_definer;

-- Every claim inserts one row that lists its jobs, and so running jobs are found without an index on them. The reclaim
-- deletes a row when all its jobs have ended.
CREATE TABLE process.job_claims (
  tenant_id uuid NOT NULL,
  jobs      uuid[] NOT NULL
);
ALTER TABLE process.job_claims ALTER COLUMN jobs SET STORAGE EXTERNAL; -- ids do not compress
ALTER TABLE process.job_claims SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
SELECT platform.enable_row_level_security('process.job_claims');
CREATE POLICY definer_door ON process.job_claims TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT ON process.job_claims TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON process.job_claims TO touchline_definer;

-- Which jobs a video has: a table of its own, to which a job is added once. As an index on jobs it was written again
-- whenever a job ended, at a random page: a tenth of the database's work for a short job. It has the foreign key to the
-- video.
CREATE TABLE process.video_jobs (
  tenant_id uuid NOT NULL,
  video_id  uuid NOT NULL,
  job_id    uuid NOT NULL,
  PRIMARY KEY (tenant_id, video_id, job_id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id)
);
SELECT platform.enable_row_level_security('process.video_jobs');
CREATE POLICY definer_door ON process.video_jobs FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT SELECT ON process.video_jobs TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, DELETE ON process.video_jobs TO touchline_system;
GRANT INSERT ON process.video_jobs TO touchline_definer;

-- Every transition, by whom, when and why. Only triggers write it.
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
SELECT platform.enable_row_level_security('process.job_events');
CREATE POLICY definer_door ON process.job_events FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT SELECT ON process.job_events TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, DELETE ON process.job_events TO touchline_system;
GRANT INSERT ON process.job_events TO touchline_definer;

-- Depth and age of the queue by tenant and type, minute by minute while there is anything in it; kept for a day.
CREATE TABLE process.job_samples (
  tenant_id  uuid NOT NULL,
  job_type   text NOT NULL,
  sampled_at timestamptz NOT NULL,
  queued     integer NOT NULL,
  processing integer NOT NULL,
  oldest_s   double precision NOT NULL, -- how long the one that is due for longest has waited
  PRIMARY KEY (tenant_id, job_type, sampled_at)
);
CREATE INDEX job_samples_age ON process.job_samples (sampled_at);
SELECT platform.enable_row_level_security('process.job_samples');
GRANT SELECT ON process.job_samples TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, DELETE ON process.job_samples TO touchline_system;

-- One row for each value beyond its threshold, until it is not. `reported`: whether the last change was sent to the webhook.
CREATE TABLE process.job_alerts (
  tenant_id  uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('failure_rate', 'queue_age', 'dead_letters')),
  job_type   text NOT NULL,
  raised     boolean NOT NULL,
  value      double precision NOT NULL,
  threshold  double precision NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  revision   bigint NOT NULL DEFAULT 1,
  reported   boolean NOT NULL DEFAULT false,
  tries      integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, kind, job_type)
);
SELECT platform.enable_row_level_security('process.job_alerts');
GRANT SELECT ON process.job_alerts TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, UPDATE ON process.job_alerts TO touchline_system;

-- Functions that change jobs by the hundred write their events themselves; other changes are announced by their callers.
CREATE POLICY process_door ON platform.event_inbox FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT INSERT ON platform.event_inbox TO touchline_definer;
