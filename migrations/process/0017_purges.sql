-- Videos whose artifact is to be purged: rows first, then objects, which are looked at twice, because a worker that lost its
-- lease may still be writing some. The row goes when nothing is left. See process/purge.

CREATE TABLE process.purges (
  tenant_id    uuid NOT NULL,
  video_id     uuid NOT NULL,
  asked_at     timestamptz NOT NULL DEFAULT now(),
  rows_gone_at timestamptz,
  job_ids      uuid[] NOT NULL DEFAULT '{}', -- whose logs go, too
  objects      bigint NOT NULL DEFAULT 0,    -- deleted so far
  next_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, video_id)
);
CREATE INDEX purges_next ON process.purges (next_at);
SELECT platform.raise_wall('process.purges');
GRANT SELECT, INSERT ON process.purges TO touchline_app, touchline_worker;
GRANT SELECT ON process.purges TO touchline_readonly;
GRANT SELECT, UPDATE, DELETE ON process.purges TO touchline_system;

GRANT DELETE ON process.videos, process.jobs, process.job_events, process.samplings, process.frames, process.readings,
  process.detections, process.segments, process.entities, process.video_labels TO touchline_system;
GRANT SELECT, DELETE ON process.clips TO touchline_system;
GRANT UPDATE (deleted_at) ON process.videos TO touchline_system; -- to lock the row

-- Up to when the history of finished jobs has been forgotten: each is visited once, in the order of the index jobs_finished.
CREATE TABLE process.forgotten_history (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  until_time timestamptz NOT NULL DEFAULT '-infinity',
  until_job  uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO process.forgotten_history DEFAULT VALUES;
GRANT SELECT, UPDATE ON process.forgotten_history TO touchline_system;
