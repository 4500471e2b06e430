-- Since when the feed says that a match is held up (PST, SUSP, INT), and the kick-off that it had then: another one is a
-- new date. Since when it says that the match is over.
ALTER TABLE watch.fixtures
  ADD COLUMN held_up_since timestamptz,
  ADD COLUMN held_up_kick_off timestamptz,
  ADD COLUMN over_since timestamptz;
UPDATE watch.fixtures SET held_up_since = coalesce(last_monitor, first_seen), held_up_kick_off = kick_off
 WHERE status IN ('PST', 'SUSP', 'INT');
UPDATE watch.fixtures SET over_since = coalesce(last_monitor, first_seen)
 WHERE status IN ('FT', 'AET', 'PEN', 'CANC', 'ABD', 'AWD', 'WO');
