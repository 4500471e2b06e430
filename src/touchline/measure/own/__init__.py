"""Our own sessions: uploads, jobs and goal searches as workflow events, so that the product measures itself."""
