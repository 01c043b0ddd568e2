-- The catalogue of training metrics and timers, from rlcompare/metrics/catalogue.csv: one row per line. `name` may be a pattern for GLOB.
-- An entry that is `same_as` another has its meaning under that name. The columns are those of the class Entry, and three that follow from
-- them: `is_pattern`; `of_machine`, a measure of the machines, which differs between runs that train alike; `of_work`,
-- how much or which work a step had.
-- Variables: catalogue (the file's lines, without its header, with a tab between columns).
-- Depends on c_logged.
-- Nothing without c_logged.
CREATE TABLE IF NOT EXISTS c_catalogue (
    name VARCHAR,
    is_pattern BOOLEAN,
    same_as VARCHAR,
    trainers VARCHAR[],
    since INTEGER,
    until INTEGER,
    unit VARCHAR,
    polarity VARCHAR,
    phase VARCHAR,
    role VARCHAR,
    inside VARCHAR,
    kind VARCHAR,
    explains VARCHAR,
    unknown DOUBLE,
    of_machine BOOLEAN,
    of_work BOOLEAN
);
INSERT INTO c_catalogue
WITH line AS (
    SELECT string_split(unnest(string_split(getvariable('catalogue'), chr(10))), chr(9)) AS cell
), given AS (   -- in the order of the file
    SELECT cell[1] AS name, cell[2] AS same_as, cell[3] AS trainer, cell[4] AS since, cell[5] AS until, cell[6] AS unit, cell[7] AS polarity,
           cell[8] AS phase, cell[9] AS role, cell[10] AS inside, cell[11] AS kind, cell[12] AS explains, cell[13] AS unknown
    FROM line
)
SELECT name, contains(name, '*') AS is_pattern, nullif(same_as, '') AS same_as, list_filter(string_split(trainer, ' '), lambda t: t <> '') AS trainers,
       TRY_CAST(since AS INTEGER) AS since, TRY_CAST(until AS INTEGER) AS until, unit, coalesce(nullif(polarity, ''), 'neutral') AS polarity,
       nullif(phase, '') AS phase, nullif(role, '') AS role, nullif(inside, '') AS inside, nullif(kind, '') AS kind,
       nullif(explains, '') AS explains, TRY_CAST(nullif(unknown, '') AS DOUBLE) AS unknown,
       unit IN ('s', 'ms/token', 'tokens/s', 'TFLOP/s', 'GiB', 'MiB') OR explains IN ('efficiency', 'preemption', 'waiting', 'switch', 'weight_sync') AS of_machine,
       explains NOT IN ('', 'mismatch', 'progress', 'staleness') AND NOT of_machine AS of_work
FROM given WHERE EXISTS (FROM c_logged) AND NOT EXISTS (FROM c_catalogue);
