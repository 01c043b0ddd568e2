-- Collectives by kind and size per side, per rank and step. The sizes of a row differ by less than a factor of two. Sums over the sizes are those
-- of the section collectives. A size whose time is unknown is left out.
-- Depends on c_collective, c_divisor, known_mean, side_mean, sum_if_known.
-- Nothing without c_collective, c_divisor.
WITH sized AS (
    SELECT *, CASE WHEN size_bytes > 0 THEN CAST(floor(log2(size_bytes)) AS INTEGER) END AS power
    FROM c_collective JOIN c_divisor USING (side, run, capture) WHERE domain = 'device'
), exact AS (
    SELECT side, kind, power, divisor, count(*) AS calls, sum(size_bytes) AS bytes, sum(end_ns - start_ns) AS ns,
           sum_if_known(transit_ns) AS transit_ns
    FROM sized GROUP BY ALL
)
SELECT side, kind AS name, power, side_mean(calls, divisor, TRUE) AS calls, side_mean(bytes, divisor, TRUE) AS bytes, side_mean(ns, divisor, TRUE) AS ns,
       known_mean(transit_ns, divisor, TRUE) AS transit_ns
FROM exact GROUP BY side, kind, power HAVING ns IS NOT NULL ORDER BY side, kind, power;
