"""The job queue. Changes of state are SQL functions, so that everybody follows the same rules; here they are called."""
