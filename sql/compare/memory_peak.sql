-- Highest memory levels per run and component: the largest over captures and ranks, because the fullest rank runs out first. `main` marks the
-- rows of the component that stands for the rank: PTA (the framework's pool), else the largest that is not a sum. Depends on c_memory.
WITH peak AS (
    SELECT side, run, component, max(allocated_bytes) AS allocated_bytes, max(reserved_bytes) AS reserved_bytes,
           max(active_bytes) AS active_bytes
    FROM c_memory GROUP BY ALL
)
SELECT *, NOT contains(component, '+') AND row_number() OVER (
           PARTITION BY side, run
           ORDER BY contains(component, '+'), component <> 'PTA', coalesce(allocated_bytes, reserved_bytes) DESC NULLS LAST, component
       ) = 1 AS main
FROM peak ORDER BY component, side, run;
