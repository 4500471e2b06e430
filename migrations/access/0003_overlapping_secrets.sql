-- A secret that was answered with a new one stays good until the new one comes: an answer may never reach the browser.
-- `superseded_at`: since when another one is known to have arrived instead. `rotated_at`: when it was last answered with a new
-- one, of which there may be several that nobody has shown yet. `seen_at`: when it was first shown.
ALTER TABLE access.session_secrets RENAME COLUMN replaced_at TO superseded_at;
ALTER TABLE access.session_secrets ADD COLUMN rotated_at timestamptz, ADD COLUMN seen_at timestamptz;
DROP INDEX access.session_secrets_current;
