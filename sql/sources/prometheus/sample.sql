-- Samples of the engines, of the time of the run if that is known, in two tables.
-- sample_growth: counters, and the sums and counts of histograms, by what they grew between two samples. A counter that fell was started
-- again: it grew by its new value. `gap` is the usual time between two samples of the series.
-- sample_level: gauges at each time of a sample. Over the label sets, which are engines, counts and rates are summed, shares and lengths
-- averaged. A label set that was sampled at another time counts with its last value, if that is not old. `top` is the sum, or the largest
-- of them.
-- Variables: prometheus_window (NULL: unknown).
-- Depends on stage_sample, stage_series.
DELETE FROM stage_sample WHERE time_ns NOT BETWEEN getvariable('prometheus_window')[1] AND getvariable('prometheus_window')[2];
-- Of several samples of a series at one time (two answers of a query share one, say), the last counts.
DELETE FROM stage_sample WHERE rowid NOT IN (SELECT arg_max(rowid, place) FROM stage_sample GROUP BY series, time_ns);
CREATE OR REPLACE TEMP TABLE sample_growth AS
WITH pair AS (
    SELECT series, value, time_ns, lag(value) OVER w AS before, lag(time_ns) OVER w AS before_ns
    FROM stage_sample SEMI JOIN (FROM stage_series WHERE kind <> 'gauge') USING (series)
    WINDOW w AS (PARTITION BY series ORDER BY time_ns, place)
)
SELECT series, before_ns AS start_ns, time_ns AS end_ns, CASE WHEN value >= before THEN value - before ELSE value END AS growth,
       quantile_disc(time_ns - before_ns, 0.5) OVER (PARTITION BY series) AS gap
FROM pair WHERE before IS NOT NULL;
CREATE OR REPLACE TEMP TABLE sample_level AS
WITH gauge AS (
    SELECT s.series, s.name, g.time_ns, g.place, g.value, g.time_ns - lag(g.time_ns) OVER (PARTITION BY s.series ORDER BY g.time_ns, g.place) AS gap
    FROM stage_sample AS g JOIN stage_series AS s USING (series) WHERE s.kind = 'gauge'
), usual AS (
    SELECT series, name, coalesce(quantile_disc(gap, 0.5), 0) AS gap FROM gauge GROUP BY ALL
), moment AS (
    SELECT DISTINCT name, time_ns FROM gauge
), last_value AS (
    SELECT series, time_ns, arg_max(value, place) AS value FROM gauge GROUP BY ALL
), level AS (
    SELECT m.name, m.time_ns, u.series, v.value
    FROM moment AS m JOIN usual AS u ON u.name = m.name
    ASOF JOIN last_value AS v ON v.series = u.series AND v.time_ns <= m.time_ns
    WHERE m.time_ns - v.time_ns <= 3 * u.gap
)
SELECT name, time_ns, CASE WHEN summed THEN sum(value ORDER BY series) ELSE avg(value ORDER BY series) END AS value,
       CASE WHEN summed THEN sum(value ORDER BY series) ELSE max(value) END AS top
FROM (SELECT *, regexp_matches(name, ':num_|_reqs$|throughput$') AS summed FROM level)
GROUP BY name, time_ns, summed;
