-- Metrics that both sides log but that are not compared, because verl changed their meaning between its releases. Gives their meaning on
-- each side, and the possible releases of each side. If these ranges of releases overlap, the sides count as the same release.
-- Depends on c_env, c_metric, c_metric_meaning, c_release.
-- Nothing without c_metric, c_metric_meaning, c_release.
CREATE TABLE c_apart AS
WITH span AS (
    SELECT side, min(low) AS low, max(high) AS high FROM c_release GROUP BY side
), meant AS (
    SELECT m.name, s.side, s.low, s.high, list(DISTINCT m.meaning ORDER BY m.meaning) AS meanings
    FROM c_metric_meaning AS m JOIN span AS s ON m.since <= s.high AND s.low < m.until
    WHERE m.needs IS NULL OR EXISTS (FROM c_env AS e WHERE starts_with(e.key, 'algorithm.rollout_') AND e.value = m.needs)
    GROUP BY ALL
)
SELECT b.name, b.meanings AS baseline, n.meanings AS new, b.low AS baseline_low, b.high AS baseline_high, n.low AS new_low, n.high AS new_high
FROM meant AS b JOIN meant AS n ON n.name = b.name AND b.side = 'baseline' AND n.side = 'new'
WHERE (b.high < n.low OR n.high < b.low) AND NOT (len(b.meanings) = 1 AND b.meanings = n.meanings)
  AND EXISTS (FROM c_metric AS c WHERE c.name = b.name AND c.side = 'baseline')
  AND EXISTS (FROM c_metric AS c WHERE c.name = b.name AND c.side = 'new');
