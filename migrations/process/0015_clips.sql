-- Clips as they are cut: which part of which video, and where the clip lies once it is there. `s3_clip_path` is the pointer
-- that the completion of its job stores; before that nobody reads the object.
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
  created_at   timestamptz NOT NULL DEFAULT now(),
  revision     bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, clip_id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id) ON DELETE CASCADE,
  CHECK (num_nonnulls(s3_clip_path, size_bytes, cut_start_ms, cut_end_ms, frames, method) IN (0, 6))
);
CREATE INDEX clips_video ON process.clips (tenant_id, video_id);
SELECT platform.raise_wall('process.clips');
GRANT SELECT, INSERT, UPDATE ON process.clips TO touchline_app, touchline_worker;
GRANT SELECT ON process.clips TO touchline_readonly;
