-- Levels of the metrics of c_watched per run. `given`: the name that the run logs. `steps`: steps with a number; `invalid`: those without, the
-- first of them `invalid_step`. `start`, `finish`: medians of the first and the last tenth of the steps; `shared_finish`: of the last tenth of
-- those that both sides have. `spread`: standard deviation from the trend over the last third; `jitter`: the same as told by the differences of
-- successive steps, which a lasting change does not widen. `low`, `high`: the smallest and the largest mean of five steps, with the first of these;
-- `shared_low`, `shared_high`: the same in steps that both sides have. `high_middle`: the largest median of five steps. `peak`: the largest value.
-- `low_since`, `high_since`: the first step of the first five whose mean, as its own value, is beyond the middle between the worst mean of
-- the other side and that of this run. `risen_since`: the first step beyond ten times
-- the usual level (`median` or `start`) among the first five whose median is so, too. `…_until`: the last step beyond it; NULL if that lasts.
-- `…_steps`: how many steps are.
-- `fallen_step`: the first step from which the metric stays below a tenth of `start`.
-- Depends on c_watched, until_of.
-- Nothing without c_watched.
WITH level AS (
    SELECT side, run, name, median(value) AS median, median(value) FILTER (place <= tenth) AS start, min(mean) AS low, max(mean) AS high
    FROM c_watched GROUP BY ALL
), trend AS (
    SELECT side, run, name, stddev_samp(value ORDER BY step) AS deviation, corr(value, place ORDER BY step) AS correlation
    FROM c_watched WHERE place > steps - greatest(steps // 3, 6) GROUP BY ALL
), worst AS (
    SELECT side, name, min(low) AS low, max(high) AS high FROM level GROUP BY ALL
), limits AS (
    SELECT l.*, 10 * least(l.median, l.start) AS far, (l.low + o.low) / 2 AS below, (l.high + o.high) / 2 AS above
    FROM level AS l LEFT JOIN worst AS o ON o.name = l.name AND o.side <> l.side
), begun AS (
    SELECT side, run, name, max(w.step) FILTER (w.value >= l.start / 10) AS stood, min(w.window_step) FILTER (w.mean < l.below) AS low,
           min(w.window_step) FILTER (w.mean > l.above) AS high, min(w.window_step) FILTER (w.middle > l.far) AS far
    FROM c_watched AS w JOIN limits AS l USING (side, run, name) GROUP BY ALL
), beyond AS (
    SELECT w.*, l.start, l.median, l.low, l.high, coalesce(w.step > coalesce(b.stood, -1) AND w.value IS NOT NULL, FALSE) AS is_fallen,
           coalesce(w.step >= b.low AND w.value < l.below, FALSE) AS is_low, coalesce(w.step >= b.high AND w.value > l.above, FALSE) AS is_high,
           coalesce(w.step >= b.far AND w.value > l.far, FALSE) AS is_risen
    FROM c_watched AS w JOIN limits AS l USING (side, run, name) JOIN begun AS b USING (side, run, name)
)
SELECT w.side, w.run, w.name, min(w.given) AS given, w.what, count(w.value) AS steps, count(*) - count(w.value) AS invalid,
       min(w.step) FILTER (w.value IS NULL) AS invalid_step,
       w.median, w.start, median(w.value) FILTER (w.place > w.steps - w.tenth) AS finish,
       median(w.value) FILTER (w.shared_left < w.shared_tenth) AS shared_finish,
       t.deviation * CASE WHEN isfinite(t.correlation) THEN sqrt(greatest(1 - t.correlation ** 2, 0)) ELSE 1 END AS spread,
       median(abs(w.value - w.before)) / 0.954 AS jitter,
       w.low, arg_min(w.window_step, (w.mean, w.step)) FILTER (w.mean IS NOT NULL) AS low_step,
       w.high, arg_max(w.window_step, (w.mean, -w.step)) FILTER (w.mean IS NOT NULL) AS high_step,
       min(w.mean) FILTER (w.all_shared) AS shared_low,
       arg_min(w.window_step, (w.mean, w.step)) FILTER (w.all_shared AND w.mean IS NOT NULL) AS shared_low_step,
       max(w.mean) FILTER (w.all_shared) AS shared_high,
       arg_max(w.window_step, (w.mean, -w.step)) FILTER (w.all_shared AND w.mean IS NOT NULL) AS shared_high_step,
       max(w.middle) AS high_middle, arg_max(w.window_step, (w.middle, -w.step)) FILTER (w.middle IS NOT NULL) AS high_middle_step,
       max(w.value) AS peak, arg_max(w.step, (w.value, -w.step)) FILTER (w.value IS NOT NULL) AS peak_step,
       min(w.step) FILTER (is_fallen) AS fallen_step,
       min(w.step) FILTER (is_low) AS low_since, until_of(is_low, w.step, w.place, w.steps) AS low_until, count(*) FILTER (is_low) AS low_steps,
       min(w.step) FILTER (is_high) AS high_since, until_of(is_high, w.step, w.place, w.steps) AS high_until, count(*) FILTER (is_high) AS high_steps,
       min(w.step) FILTER (is_risen) AS risen_since, until_of(is_risen, w.step, w.place, w.steps) AS risen_until, count(*) FILTER (is_risen) AS risen_steps
FROM beyond AS w LEFT JOIN trend AS t USING (side, run, name)
GROUP BY w.side, w.run, w.name, w.what, w.median, w.start, w.low, w.high, t.deviation, t.correlation
ORDER BY enum_code(w.name), w.side, w.run;
