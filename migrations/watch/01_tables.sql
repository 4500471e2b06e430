-- What is watched: matches as the feed tells them, their goals, what was found of each, and what was kept.
--
-- The feed's columns and ours are apart: a poll writes the feed's and never touches ours, so whoever adds something
-- meanwhile loses nothing. Sets of run ids grow by whoever was there; adding one twice changes nothing.

GRANT USAGE ON SCHEMA watch TO touchline_app, touchline_worker, touchline_readonly, touchline_system;

CREATE TABLE watch.fixtures (
  tenant_id       uuid NOT NULL,
  id              bigint NOT NULL,
  stage           text NOT NULL CHECK (stage IN ('staging', 'active', 'completed')), -- exactly one, always
  -- the feed's
  status          text NOT NULL,
  elapsed         integer,
  kick_off        timestamptz NOT NULL,
  league_id       bigint,
  league_name     text NOT NULL DEFAULT '',
  season          integer,
  home_id         bigint NOT NULL,
  home_name       text NOT NULL,
  away_id         bigint NOT NULL,
  away_name       text NOT NULL,
  home_goals      integer,
  away_goals      integer,
  winner_id       bigint,
  raw             jsonb NOT NULL,
  live            jsonb, -- the feed's last answer with events, not compared yet
  live_run        text, -- the monitor run that got it
  -- ours
  first_seen      timestamptz NOT NULL,
  last_monitor    timestamptz, -- when the feed last answered about it
  activated_at    timestamptz,
  completion_runs text[] NOT NULL DEFAULT '{}', -- monitor runs that found nothing left to do
  completed_at    timestamptz,
  failure         text, -- why the last look at it failed; null when it did not
  summary         jsonb, -- when it is completed: goals, coverage, times, top failure
  revision        bigint NOT NULL DEFAULT 1,
  applied_run     text, -- the monitor run whose goals were compared last
  -- Since when the feed says that the match is held up (PST, SUSP, INT), and the kick-off that it had then: another kick-off is a
  -- new date. Since when it says that the match is over.
  held_up_since    timestamptz,
  held_up_kick_off timestamptz,
  over_since       timestamptz,
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX fixtures_days ON watch.fixtures (tenant_id, kick_off, id);
CREATE INDEX fixtures_stages ON watch.fixtures (tenant_id, stage, kick_off) WHERE stage <> 'completed';
SELECT platform.enable_row_level_security('watch.fixtures');

-- A goal as we follow it. An annulled one stays as a tombstone; a goal that gets its id later is a new generation.
CREATE TABLE watch.goals (
  tenant_id          uuid NOT NULL,
  event_id           text COLLATE "C" NOT NULL, -- {fixture}_{team}_{player}_{type}_{sequence}
  generation         integer NOT NULL DEFAULT 1 CHECK (generation >= 1),
  fixture_id         bigint NOT NULL,
  -- the feed's
  team_id            bigint NOT NULL,
  team_name          text NOT NULL,
  player_id          bigint,
  player_name        text,
  type               text NOT NULL,
  detail             text NOT NULL,
  minute             integer NOT NULL,
  extra              integer,
  home_score         integer NOT NULL, -- the running score with this goal
  away_score         integer NOT NULL,
  raw                jsonb NOT NULL,
  -- ours
  sequence           integer NOT NULL CHECK (sequence >= 1),
  first_seen         timestamptz NOT NULL,
  monitor_workflows  text[] NOT NULL DEFAULT '{}', -- monitor runs in a row that saw it
  absent_workflows   text[] NOT NULL DEFAULT '{}', -- monitor runs in a row that did not
  stable_at          timestamptz,
  workflow_id        text, -- of its TwitterWorkflow, computed once
  label              text, -- {Team}-{LastName}, computed once, for the ids of workflows
  monitor_complete   boolean NOT NULL DEFAULT false, -- its TwitterWorkflow has begun
  search_started_at  timestamptz,
  twitter_aliases    text[] NOT NULL DEFAULT '{}',
  twitter_attempt    integer NOT NULL DEFAULT 0,
  searched_at        timestamptz, -- when the last search that worked began
  search_failure     text, -- why the last one did not
  download_started   text[] NOT NULL DEFAULT '{}', -- attempts, by the ids of their runs
  download_workflows text[] NOT NULL DEFAULT '{}', -- those that have ended
  download_complete  boolean NOT NULL DEFAULT false,
  completed_at       timestamptz,
  outcome            text, -- why it ended: found, nothing_found, unidentified, search_unavailable, lost
  first_archived_at  timestamptz,
  removed_at         timestamptz,
  removal            text CHECK (removal IN ('annulled', 'identified', 'reattributed', 'doubled')),
  moved_to           text COLLATE "C", -- the event that has its videos now
  moved_generation   integer,
  revision           bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, event_id, generation),
  FOREIGN KEY (tenant_id, fixture_id) REFERENCES watch.fixtures (tenant_id, id) ON DELETE CASCADE,
  CHECK ((removed_at IS NULL) = (removal IS NULL)),
  CHECK ((moved_to IS NULL) = (moved_generation IS NULL))
);
CREATE UNIQUE INDEX goals_living ON watch.goals (tenant_id, event_id) WHERE removed_at IS NULL;
CREATE INDEX goals_of_fixture ON watch.goals (tenant_id, fixture_id, minute, extra);
SELECT platform.enable_row_level_security('watch.goals');

-- Every video that a search found for a goal, and what became of it.
CREATE TABLE watch.found (
  tenant_id     uuid NOT NULL,
  event_id      text COLLATE "C" NOT NULL,
  generation    integer NOT NULL,
  post_id       text COLLATE "C" NOT NULL CHECK (post_id ~ '^[0-9]{18,25}$'),
  video_index   integer NOT NULL DEFAULT 1 CHECK (video_index BETWEEN 1 AND 10),
  url           text NOT NULL, -- the post's
  author        text NOT NULL DEFAULT '',
  post_text     text NOT NULL DEFAULT '',
  posted_at     timestamptz,
  duration_s    double precision, -- as the post says
  found_at      timestamptz NOT NULL,
  found_by      text NOT NULL DEFAULT '', -- the query
  attempt       integer NOT NULL, -- the search that found it first
  state         text NOT NULL DEFAULT 'seen' CHECK (state IN ('seen', 'selected', 'downloaded', 'rejected', 'failed')),
  why           text, -- of rejected and failed: a code, with details behind a colon
  tries         integer NOT NULL DEFAULT 0,
  last_try      text, -- the id of the DownloadWorkflow that has, or had, it
  retry_at      timestamptz, -- a failed one is not tried before
  -- of a downloaded one
  incoming_key  text, -- until it is archived or given up
  md5           text,
  size_bytes    bigint,
  duration_ms   bigint,
  width         integer,
  height        integer,
  bit_rate      bigint,
  -- of a validated one
  validated_at  timestamptz,
  validation    jsonb, -- what the engines said, and the clock that was read
  verified      boolean, -- its clock shows the goal's minute; null: not validated yet
  fingerprint   text,
  -- of one that was taken into the archive
  artifact_hash text COLLATE "C", -- the video that it is, or that is its better copy
  PRIMARY KEY (tenant_id, event_id, generation, post_id, video_index),
  FOREIGN KEY (tenant_id, event_id, generation) REFERENCES watch.goals (tenant_id, event_id, generation)
    ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX found_waiting ON watch.found (tenant_id, found_at) WHERE state = 'downloaded' AND verified IS NULL;
SELECT platform.enable_row_level_security('watch.found');

-- What waits to be archived: one row for what a download run hands over at once. The id is computed, so handing it over
-- twice changes nothing.
CREATE TABLE watch.upload_batches (
  tenant_id   uuid NOT NULL,
  event_id    text COLLATE "C" NOT NULL,
  generation  integer NOT NULL,
  batch_id    text COLLATE "C" NOT NULL,
  videos      jsonb NOT NULL, -- [{post_id, video_index}, …]
  queued_at   timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (tenant_id, event_id, generation, batch_id),
  FOREIGN KEY (tenant_id, event_id, generation) REFERENCES watch.goals (tenant_id, event_id, generation)
    ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX upload_batches_waiting ON watch.upload_batches (tenant_id, event_id, generation) WHERE archived_at IS NULL;
SELECT platform.enable_row_level_security('watch.upload_batches');

-- The archive: each kept video is an artifact. One that was replaced says by whom, for as long as its goal lives.
CREATE TABLE watch.videos (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  event_id      text COLLATE "C" NOT NULL,
  generation    integer NOT NULL,
  object_key    text NOT NULL, -- immutable, named by content
  md5           text NOT NULL,
  size_bytes    bigint NOT NULL CHECK (size_bytes > 0),
  duration_ms   bigint NOT NULL,
  width         integer NOT NULL,
  height        integer NOT NULL,
  bit_rate      bigint,
  fingerprint   text NOT NULL,
  verified      boolean NOT NULL,
  clock         text, -- as it was read
  source_url    text NOT NULL,
  popularity    integer NOT NULL DEFAULT 1 CHECK (popularity >= 1),
  rank          integer, -- 1 is the best; null when it is not kept
  state         text NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'replaced', 'dropped')),
  replaced_by   text COLLATE "C",
  archived_at   timestamptz NOT NULL,
  pinned        boolean NOT NULL DEFAULT false, -- it outlives its match
  revision      bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, replaced_by) REFERENCES watch.videos (tenant_id, artifact_hash),
  CHECK ((state = 'replaced') = (replaced_by IS NOT NULL)),
  CHECK ((state = 'kept') = (rank IS NOT NULL))
);
CREATE INDEX videos_of_goal ON watch.videos (tenant_id, event_id, generation, rank);
CREATE UNIQUE INDEX videos_ranks ON watch.videos (tenant_id, event_id, generation, rank) WHERE state = 'kept';
SELECT platform.enable_row_level_security('watch.videos');

-- Words for teams. Those that rules made, because nobody knew better, expire.
CREATE TABLE watch.aliases (
  tenant_id  uuid NOT NULL,
  team_id    bigint NOT NULL,
  team_name  text NOT NULL,
  national   boolean NOT NULL,
  country    text,
  city       text,
  words      text[] NOT NULL, -- for searching, best first
  source     text NOT NULL CHECK (source IN ('model', 'rules')),
  item       text, -- of Wikidata
  made_at    timestamptz NOT NULL,
  expires_at timestamptz,
  PRIMARY KEY (tenant_id, team_id)
);
SELECT platform.enable_row_level_security('watch.aliases');

-- The clubs of a league in a season, as the feed last listed them.
CREATE TABLE watch.tracked_clubs (
  tenant_id  uuid NOT NULL,
  league_id  bigint NOT NULL,
  season     integer NOT NULL,
  team_ids   bigint[] NOT NULL,
  fetched_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, league_id)
);
SELECT platform.enable_row_level_security('watch.tracked_clubs');

-- How many requests the feed had from all of us: a row for each day and each minute.
CREATE TABLE watch.feed_requests (
  tenant_id uuid NOT NULL,
  span      text NOT NULL CHECK (span IN ('day', 'minute')),
  began_at  timestamptz NOT NULL,
  count     integer NOT NULL,
  most      integer NOT NULL, -- the limit of those who asked, for commands that run with other settings
  PRIMARY KEY (tenant_id, span, began_at)
);
SELECT platform.enable_row_level_security('watch.feed_requests');

-- Whether the video search works, by an hourly query: one row a tenant, the last check.
CREATE TABLE watch.search_checks (
  tenant_id      uuid NOT NULL,
  checked_at     timestamptz NOT NULL,
  works          boolean NOT NULL,
  found          integer NOT NULL DEFAULT 0, -- videos
  took_ms        integer NOT NULL,
  failure        text, -- why it does not work, and what to do
  worked_at      timestamptz, -- the last time that it did
  failures       integer NOT NULL DEFAULT 0, -- checks in a row that failed
  PRIMARY KEY (tenant_id)
);
SELECT platform.enable_row_level_security('watch.search_checks');

-- Whether the football feed answers, by its last request for a day: one row a tenant. A failure is shown where the matches
-- would be.
CREATE TABLE watch.feed_checks (
  tenant_id   uuid NOT NULL,
  checked_at  timestamptz NOT NULL,
  failure     text,        -- what went wrong; null: it answered
  why         text,
  hint        text,        -- what to do next
  next_try_at timestamptz, -- of a failure: when it is asked again
  answered_at timestamptz, -- the last time that it did
  failures    integer NOT NULL DEFAULT 0, -- in a row
  PRIMARY KEY (tenant_id)
);
SELECT platform.enable_row_level_security('watch.feed_checks');

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA watch TO touchline_app, touchline_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA watch TO touchline_readonly, touchline_system;
GRANT DELETE ON watch.feed_requests TO touchline_system;
