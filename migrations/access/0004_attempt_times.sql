-- When the last attempt was made: the more there were, the longer the next one has to wait.
ALTER TABLE access.sign_in_attempts ADD COLUMN last_at timestamptz;
