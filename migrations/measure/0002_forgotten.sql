-- A delivery that was never finished and has no rows stays listed as forgotten: its insert may yet land, and when it is
-- made again it keeps the time of its first try. So each of its records has one place among the arrivals.
ALTER TABLE measure.batches
  DROP CONSTRAINT batches_state_check,
  ADD CONSTRAINT batches_state_check CHECK (state IN ('receiving', 'stored', 'folded', 'forgotten'));
