-- Time between the captures of one member and step (discrete mode), per run, in ns: the mean over members of the mean over steps. It counts
-- gaps between profiler windows on the host's clock; overlapping windows leave no gap. If there are ranks of the trainer, only they count:
-- a rollout replica is another process.
-- Depends on c_capture, c_step.
-- Nothing without c_capture, c_step.
WITH window_of AS (
    SELECT c.side, c.run, c.member, s.step, c.host_start_ns, c.host_end_ns
    FROM c_capture AS c JOIN c_step AS s USING (side, run, capture)
    WHERE s.selected AND s.inferred AND c.host_start_ns IS NOT NULL AND c.host_end_ns IS NOT NULL
      AND (c.rank IS NOT NULL OR c.replica IS NOT NULL)
    QUALIFY c.replica IS NULL OR bool_and(c.replica IS NOT NULL) OVER (PARTITION BY c.side, c.run)
), gap AS (
    SELECT side, run, member, step, host_start_ns - max(host_end_ns) OVER (
               PARTITION BY side, run, member, step ORDER BY host_start_ns, host_end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS gap_ns
    FROM window_of
), stepped AS (
    SELECT side, run, member, step, sum(greatest(gap_ns, 0)) AS ns FROM gap GROUP BY ALL
    HAVING count(*) > 1 AND max(gap_ns) <= 7 * 86400 * 1e9   -- no profile lasts longer than a week: a capture has another clock
), of_member AS (
    SELECT side, run, member, sum(ns) / count(*) AS ns FROM stepped GROUP BY ALL
)
SELECT side, run, sum(ns ORDER BY member) / count(*) AS mean_ns FROM of_member GROUP BY ALL ORDER BY side, run;
