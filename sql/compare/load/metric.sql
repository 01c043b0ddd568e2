-- Training, importance-sampling and workload metrics of one run. They are not limited to the selected steps, because the profile and the
-- training may number steps differently. Numbers that stand for an unknown value are left out: verl writes -1 for an unknown number of
-- preemptions, and for unknown times of ranks. Names are kept once, because millions of values may have the same few hundred. The first releases
-- of verl log no time of the whole step: the sum of its timers takes its place, under the given name timing/*.
-- Variables: run, side.
-- Depends on c_catalogue, c_metric_alias, metric.
-- Nothing without c_metric_alias.
CREATE TABLE IF NOT EXISTS c_metric_name (
    id INTEGER NOT NULL,
    name VARCHAR NOT NULL,    -- canonical name: that of the first release of verl with this metric
    given VARCHAR NOT NULL    -- name in a run
);
CREATE TABLE IF NOT EXISTS c_metric_value (
    side ENUM('baseline', 'new') NOT NULL,
    run INTEGER NOT NULL,
    step BIGINT,              -- NULL: unknown, as one that no source accepts
    metric INTEGER NOT NULL,  -- id of c_metric_name
    value DOUBLE,             -- NULL if it is not finite, if its square would overflow, or if it is a time that is negative or beyond a year
    profiled BOOLEAN NOT NULL,
    warmup BOOLEAN            -- NULL: unknown
);
INSERT INTO c_metric_name
SELECT (SELECT count(*) FROM c_metric_name) + row_number() OVER (ORDER BY m.given), m.name, m.given
FROM c_metric_alias AS m ANTI JOIN c_metric_name USING (name, given)
WHERE m.side = getvariable('side') AND m.run = getvariable('run');
CREATE OR REPLACE TEMP TABLE load_named AS   -- is_several: the run logs the metric under several names
SELECT n.id, n.name, n.given, count(*) OVER (PARTITION BY n.name) > 1 AS is_several, starts_with(n.given, 'timing_s/') AS is_timer,
       (SELECT list(c.unknown) FROM c_catalogue AS c WHERE c.name = n.given AND c.unknown IS NOT NULL) AS unknown
FROM c_metric_alias AS m JOIN c_metric_name AS n USING (name, given)
WHERE m.side = getvariable('side') AND m.run = getvariable('run');
CREATE OR REPLACE TEMP VIEW load_known AS
SELECT CASE WHEN m.step BETWEEN -1000000000000000 AND 1000000000000000 THEN m.step END AS step,
       n.id, n.name, n.given, n.is_several, m.profiled, m.warmup,
       CASE WHEN abs(m.value) <= 1e100 AND (m.value BETWEEN 0 AND 366 * 86400 OR NOT n.is_timer) THEN m.value END AS value
FROM store.metric AS m JOIN load_named AS n ON n.given = m.name
WHERE n.unknown IS NULL OR m.value IS NULL OR NOT list_contains(n.unknown, m.value);
INSERT INTO c_metric_value
SELECT getvariable('side'), getvariable('run'), step, id, value, profiled, warmup FROM load_known WHERE NOT is_several;
INSERT INTO c_metric_value   -- in a statement of its own: one for both would hold all values in between
SELECT getvariable('side'), getvariable('run'), step, id, value, profiled, warmup FROM load_known WHERE is_several
QUALIFY row_number() OVER (PARTITION BY step, name ORDER BY given <> name, given) = 1;
CREATE OR REPLACE TEMP TABLE load_timed AS   -- by step, the values of early timers, if the run has no time of the step
WITH value AS (
    SELECT v.step, n.name, n.given, v.value, v.profiled, v.warmup FROM c_metric_value AS v JOIN c_metric_name AS n ON n.id = v.metric
    WHERE v.side = getvariable('side') AND v.run = getvariable('run') AND starts_with(n.name, 'timing_s/')
)
SELECT step, sum(value ORDER BY name) AS value, bool_or(profiled) AS profiled, bool_and(warmup) AS warmup, count(value) = count(*) AS is_known
FROM value WHERE starts_with(given, 'timing/') AND given IN (SELECT name FROM c_catalogue WHERE until < 50) AND NOT EXISTS (FROM value WHERE name = 'timing_s/step')
  AND EXISTS (FROM c_metric_alias)
GROUP BY step HAVING count(*) > 1;
INSERT INTO c_metric_name
SELECT (SELECT count(*) FROM c_metric_name) + 1, 'timing_s/step', 'timing/*'
FROM (FROM load_timed LIMIT 1) WHERE 'timing/*' NOT IN (SELECT given FROM c_metric_name);
INSERT INTO c_metric_value
SELECT getvariable('side'), getvariable('run'), t.step, n.id, CASE WHEN t.is_known THEN t.value END, t.profiled, t.warmup
FROM load_timed AS t JOIN c_metric_name AS n ON n.given = 'timing/*';
