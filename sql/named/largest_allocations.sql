-- Operators by the bytes that they allocated over the whole run.
-- Depends on r_allocation.
SELECT name, sum(calls) AS allocations, sum(size_bytes) / 1048576.0 AS total_mib, max(max_bytes) / 1048576.0 AS largest_mib,
       sum(unreleased_bytes) / 1048576.0 AS unreleased_mib
FROM r_allocation GROUP BY name ORDER BY total_mib DESC, name;
