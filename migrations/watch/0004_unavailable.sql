-- A goal for which not one search has worked was not looked for: that is not the same as nothing found. Where something
-- was found, one has worked at least in part.
CREATE OR REPLACE FUNCTION watch.complete_goal(goal text, of_generation integer, attempts integer, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  target watch.goals;
BEGIN
  SELECT * INTO target FROM watch.goals AS g
   WHERE g.tenant_id = (SELECT platform.current_tenant()) AND g.event_id = goal AND g.generation = of_generation
     FOR UPDATE;
  IF target.event_id IS NULL OR target.download_complete OR target.removed_at IS NOT NULL
     OR cardinality(target.download_workflows) < attempts
     OR EXISTS (SELECT 1 FROM watch.upload_batches AS b
                 WHERE b.tenant_id = target.tenant_id AND b.event_id = goal AND b.generation = of_generation
                   AND b.archived_at IS NULL) THEN
    RETURN false;
  END IF;
  UPDATE watch.goals AS g
     SET download_complete = true, completed_at = at, revision = g.revision + 1,
         outcome = CASE
           WHEN EXISTS (
             SELECT 1 FROM watch.videos AS v
              WHERE v.tenant_id = g.tenant_id AND v.event_id = goal AND v.generation = of_generation
                AND v.state = 'kept'
           ) THEN 'found'
           WHEN g.searched_at IS NULL AND NOT EXISTS (
             SELECT 1 FROM watch.found AS f
              WHERE f.tenant_id = g.tenant_id AND f.event_id = goal AND f.generation = of_generation
           ) THEN 'search_unavailable'
           ELSE 'nothing_found'
         END
   WHERE g.tenant_id = target.tenant_id AND g.event_id = goal AND g.generation = of_generation;
  RETURN true;
END
$$;
