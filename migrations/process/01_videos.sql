-- Videos as the pipeline sees them: where the original is stored, what was made of it, and how far it has come; the
-- clips that are cut from them; and their purge.

GRANT USAGE ON SCHEMA process TO touchline_app, touchline_worker, touchline_readonly, touchline_system, touchline_definer;

-- `playable`: transcoded. `ready`: searchable too. `failed`: a stage failed for good; what was made before stays.
-- The status is text, not an enum: comparing enums is not leakproof and would lose its index under row-level security.
CREATE TABLE process.videos (
  tenant_id        uuid NOT NULL,
  video_id         uuid NOT NULL,
  owner_id         uuid,
  status           text NOT NULL DEFAULT 'uploaded' CHECK (status IN ('uploaded', 'playable', 'ready', 'failed')),
  s3_original_path text NOT NULL,
  s3_proxy_path    text, -- the playlist of the attempt that won; the fixed key beside it only points there
  s3_thumb_path    text,
  size_bytes       bigint NOT NULL,
  content_type     text NOT NULL,
  duration_ms      bigint,
  width            integer,
  height           integer,
  pointers_written boolean NOT NULL DEFAULT true, -- false: the fixed keys do not show these paths yet
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  revision         bigint NOT NULL DEFAULT 1,
  s3_storyboard_path text, -- thumbnails for the seek bar: WebVTT beside that playlist; null until they are made
  deleted_at       timestamptz, -- its artifact was deleted: not searched any more
  original_missing_since timestamptz, -- the object store does not have the original; null: it does
  original_digest  text, -- of the original that the renditions were made of: later stages refuse one that was replaced since
  PRIMARY KEY (tenant_id, video_id),
  CHECK (num_nonnulls(s3_proxy_path, s3_thumb_path, duration_ms, width, height) IN (0, 5)),
  -- No infinity, and no year that clients have no date for.
  CONSTRAINT videos_times_are_dates CHECK (
    created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND updated_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND deleted_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
    AND original_missing_since BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z')
);
-- Object keys contain the video's id and no tenant, so no tenant may use an id that another one has.
CREATE UNIQUE INDEX videos_id ON process.videos (video_id);
CREATE INDEX videos_pointers ON process.videos (updated_at) WHERE NOT pointers_written;
SELECT platform.enable_row_level_security('process.videos');
CREATE POLICY definer_door ON process.videos TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON process.videos TO touchline_app, touchline_worker;
GRANT SELECT ON process.videos TO touchline_readonly;
GRANT SELECT, DELETE, UPDATE (deleted_at) ON process.videos TO touchline_system; -- the update right is needed to lock the row
GRANT SELECT, UPDATE ON process.videos TO touchline_definer;

-- Clips as they are cut: which part of which video, and where the clip is stored. `s3_clip_path` is the pointer that the
-- completion of its job stores; before that nobody reads the object. A clip outlives the video that it was cut from: when
-- the video is purged, only those go that nobody registered. `registered`: it is an artifact, with a purge of its own.
CREATE TABLE process.clips (
  tenant_id    uuid NOT NULL,
  clip_id      uuid NOT NULL,
  video_id     uuid NOT NULL,
  job_id       uuid NOT NULL,
  s3_clip_path text,
  size_bytes   bigint CHECK (size_bytes > 0),
  cut_start_ms bigint,
  cut_end_ms   bigint,
  frames       integer CHECK (frames > 0),
  method       text,
  registered   boolean NOT NULL DEFAULT false,
  created_at   timestamptz NOT NULL DEFAULT now(),
  revision     bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, clip_id),
  CHECK (num_nonnulls(s3_clip_path, size_bytes, cut_start_ms, cut_end_ms, frames, method) IN (0, 6)),
  CONSTRAINT clips_times_are_dates CHECK (created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z')
);
CREATE INDEX clips_video ON process.clips (tenant_id, video_id);
SELECT platform.enable_row_level_security('process.clips');
GRANT SELECT, INSERT, UPDATE ON process.clips TO touchline_app, touchline_worker;
GRANT SELECT ON process.clips TO touchline_readonly;
GRANT SELECT, DELETE ON process.clips TO touchline_system;

-- Videos whose artifact is to be purged: rows first, then objects, which are listed twice, because a worker that lost
-- its lease may still be writing some. The row is deleted when nothing is left. See process/purge.
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
SELECT platform.enable_row_level_security('process.purges');
GRANT SELECT, INSERT ON process.purges TO touchline_app, touchline_worker;
GRANT SELECT ON process.purges TO touchline_readonly;
GRANT SELECT, UPDATE, DELETE ON process.purges TO touchline_system;

-- Up to when the history of finished jobs was deleted: each job is visited once, in the order of the index jobs_finished.
CREATE TABLE process.forgotten_history (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  until_time timestamptz NOT NULL DEFAULT '-infinity',
  until_job  uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO process.forgotten_history DEFAULT VALUES;
GRANT SELECT, UPDATE ON process.forgotten_history TO touchline_system;
