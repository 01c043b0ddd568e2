-- side_mean(amount, divisor, wanted): the value of one side, from sums that are exact per divisor. `wanted` selects the rows of the side.
-- The order of summation is fixed: the same inputs give the same bits, and a side compared with itself gives equal values. Callers sum
-- integers per divisor first.
-- known_mean(amount, divisor, wanted): side_mean, if the amounts of all rows, of both sides, are known; else NULL.
-- sum_of_runs(amount, run), sum_of_groups(amount, role, folder): sums in a fixed order too.
-- sum_if_known(amount): the sum of amounts; NULL if one of them is unknown.
-- is_head(text): whether a name has rows of its own; all have, unless there are very many (head_name).
-- known_as(name): the name that both sides have for it; the name itself, unless one side has shortened it (known_short).
-- own_or_others(name, head): the name of a row that has its own, else that of the row of all others.
-- in_part(name): whether a metric belongs to the part of the metrics that is computed now; all do, unless there are very many values (part_of).
-- may_tell(name): whether a metric without a line in the catalogue may tell why a time changed (rlcompare/compare/timers.py::TELLING_NAMES).
-- middle_of(a, b, c): the median of three numbers.
-- until_of(beyond, step, place, steps): the last of the steps that are beyond a limit; NULL if it lasts: if most of the last three steps are
-- beyond it, and four fifths of those from the first one on. `place`: of a step among the `steps` of its run.
-- types_of(dtypes): the data types in a list of those of inputs, each once, such as 'FLOAT;INT32' for 'FLOAT;INT32;;FLOAT'.
-- Run by name: once, before all others.
CREATE OR REPLACE MACRO side_mean(amount, divisor, wanted) AS
    sum(amount / divisor ORDER BY divisor) FILTER (WHERE wanted);
CREATE OR REPLACE MACRO sum_of_runs(amount, run) AS sum(amount ORDER BY run);
CREATE OR REPLACE MACRO sum_of_groups(amount, role, folder) AS sum(amount ORDER BY role, folder);
CREATE OR REPLACE MACRO known_mean(amount, divisor, wanted) AS
    CASE WHEN count(amount) = count(*) THEN side_mean(amount, divisor, wanted) END;
CREATE OR REPLACE MACRO known_as(name) AS name;
CREATE OR REPLACE MACRO in_part(name) AS TRUE;
CREATE OR REPLACE MACRO may_tell(name) AS regexp_matches(name, '^(timing_s/|prometheus/|workload\.|fully_async/)');
CREATE OR REPLACE MACRO middle_of(a, b, c) AS greatest(least(a, b), least(greatest(a, b), c));
CREATE OR REPLACE MACRO own_or_others(name, head) AS CASE WHEN head OR name IS NULL THEN name ELSE '(others)' END;
CREATE OR REPLACE MACRO is_head(text) AS TRUE;
CREATE OR REPLACE MACRO types_of(dtypes) AS
    array_to_string(list_sort(list_distinct(list_filter(string_split(dtypes, ';'), lambda t: t <> ''))), ';');
CREATE OR REPLACE MACRO sum_if_known(amount) AS CASE WHEN count(amount) = count(*) THEN sum(amount) END;
CREATE OR REPLACE MACRO until_of(beyond, step, place, steps) AS
    CASE WHEN 2 * count(*) FILTER (beyond AND place > steps - 3) > least(max(steps), 3)
              AND count(*) FILTER (beyond) >= 0.8 * (max(steps) - min(place) FILTER (beyond) + 1) THEN NULL
         ELSE max(step) FILTER (beyond) END;
