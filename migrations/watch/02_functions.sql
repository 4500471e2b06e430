-- Functions on goals, all within the tenant of the transaction.

-- The goal that this one is now: itself, or the one that has its videos since the feed named another scorer. Nothing
-- when it was annulled.
CREATE FUNCTION watch.living_goal(goal text, of_generation integer) RETURNS TABLE (event_id text, generation integer)
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE way AS (
    SELECT g.event_id, g.generation, g.removed_at, g.moved_to, g.moved_generation, 1 AS steps
      FROM watch.goals AS g
     WHERE g.tenant_id = (SELECT platform.current_tenant()) AND g.event_id = goal AND g.generation = of_generation
    UNION ALL
    SELECT g.event_id, g.generation, g.removed_at, g.moved_to, g.moved_generation, way.steps + 1
      FROM way JOIN watch.goals AS g
        ON g.tenant_id = (SELECT platform.current_tenant())
       AND g.event_id = way.moved_to AND g.generation = way.moved_generation
     WHERE way.steps < 20
  )
  SELECT way.event_id, way.generation FROM way WHERE way.removed_at IS NULL
$$;

-- Ends a goal's search when it is over: as many attempts have ended as there are to be (one whose videos wait for
-- validation has not), and nothing waits to be archived. Called at the end of every download and every batch; the last
-- caller ends it. Returns whether this call did. A goal for which no search has worked was not searched for, which is
-- not the same as nothing found; where something was found, a search has worked at least in part.
CREATE FUNCTION watch.complete_goal(goal text, of_generation integer, attempts integer, at timestamptz)
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
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA watch FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA watch TO touchline_app, touchline_worker;
GRANT EXECUTE ON FUNCTION watch.living_goal(text, integer) TO touchline_readonly;
