-- Peak memory per run and component: the maximum over captures and ranks, because the fullest rank runs out of memory first. `main` marks
-- the component that represents the rank. It is chosen among the components that every run with memory data has: PTA (the framework's
-- pool), else the largest that is not a sum. Different components are never compared: if the runs have none in common, none is marked.
-- Depends on c_memory.
-- Nothing without c_memory.
WITH peak AS (
    SELECT side, run, component, max(allocated_bytes) AS allocated_bytes, max(reserved_bytes) AS reserved_bytes,
           max(active_bytes) AS active_bytes
    FROM c_memory GROUP BY ALL
), common AS (
    SELECT component FROM peak WHERE NOT contains(component, '+') GROUP BY component
    HAVING count(*) = (SELECT count(DISTINCT (side, run)) FROM peak)
    ORDER BY component <> 'PTA', max(coalesce(allocated_bytes, reserved_bytes)) DESC NULLS LAST, component LIMIT 1
)
SELECT *, component IN (FROM common) AS main FROM peak ORDER BY component, side, run;
