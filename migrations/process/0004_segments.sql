-- Text over time, and what it speaks of. A video has the segments of its last index, all of them or none.

CREATE TABLE process.segments (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL, -- computed: the same reading gives the same ids
  video_id        uuid NOT NULL,
  owner_id        uuid,
  team_id         uuid NOT NULL GENERATED ALWAYS AS (tenant_id) STORED,
  text            text NOT NULL,
  normalized_text text NOT NULL,
  text_hash       text NOT NULL,
  t_start         bigint NOT NULL, -- milliseconds: the first picture that shows it
  t_end           bigint NOT NULL, -- the first one that does not
  confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  bounding_box    jsonb NOT NULL,  -- {x, y, width, height} in pixels of the sampled pictures
  language        text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id),
  CHECK (t_end >= t_start)
);
CREATE INDEX segments_video ON process.segments (tenant_id, video_id, t_start, id);
SELECT platform.raise_wall('process.segments');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.segments TO touchline_app, touchline_worker;
GRANT SELECT ON process.segments TO touchline_readonly, touchline_system;

-- Types and kinds are text, not enums: comparing enums is not leakproof and would lose its index behind the wall.
CREATE TABLE process.entities (
  tenant_id        uuid NOT NULL,
  id               uuid NOT NULL,
  segment_id       uuid NOT NULL,
  video_id         uuid NOT NULL,
  entity_type      text NOT NULL CHECK (entity_type IN ('mention', 'hashtag', 'url', 'emoji', 'number')),
  value            text NOT NULL, -- as it stands in the text
  normalized_value text NOT NULL,
  number_kind      text CHECK (number_kind IN ('plain', 'currency', 'unit', 'score', 'clock')),
  position         integer NOT NULL, -- in the text of the segment, by characters
  t_start          bigint NOT NULL,  -- as the segment's
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, segment_id) REFERENCES process.segments (tenant_id, id) ON DELETE CASCADE,
  CHECK ((number_kind IS NOT NULL) = (entity_type = 'number'))
);
CREATE INDEX entities_video ON process.entities (tenant_id, video_id, t_start, id);
CREATE INDEX entities_segment ON process.entities (tenant_id, segment_id);
CREATE INDEX entities_value ON process.entities (tenant_id, entity_type, normalized_value);
SELECT platform.raise_wall('process.entities');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.entities TO touchline_app, touchline_worker;
GRANT SELECT ON process.entities TO touchline_readonly, touchline_system;
