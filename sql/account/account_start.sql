-- Where another rank's path may come to a track: the starts of its collectives. Only in captures of known rank, because the path leads
-- from rank to rank.
-- Depends on account_track, capture, placed.
-- Nothing without account_track, capture, placed.
CREATE OR REPLACE TEMP TABLE account_start AS
SELECT DISTINCT t.track, p.start_ns AS at_ns
FROM placed AS p JOIN capture AS c ON c.capture = p.capture JOIN account_track AS t
  ON t.capture = p.capture AND t.device_id IS NOT DISTINCT FROM p.device_id AND (t.step IS NULL OR t.step = p.step)
WHERE p.what = 'collective' AND p.end_ns > p.start_ns AND c.rank IS NOT NULL;
