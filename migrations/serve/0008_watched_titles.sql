-- The title of a goal's video changes with what is known of the goal, and may be told before the video itself.
ALTER TABLE serve.watched ADD COLUMN title text, ADD COLUMN title_revision bigint NOT NULL DEFAULT 0;
