-- The catalogue of training metrics and timers, from rlcompare/metrics/catalogue.csv: one row per line. `name` may be a pattern for GLOB.
-- An entry that is `same_as` another has its meaning under that name. The columns are those of the class Entry.
-- Variables: catalogue (JSON).
-- Run by name: before the runs are loaded.
CREATE TABLE c_catalogue AS
SELECT name, contains(name, '*') AS is_pattern, nullif(same_as, '') AS same_as, list_filter(string_split(trainer, ' '), lambda t: t <> '') AS trainers,
       TRY_CAST(since AS INTEGER) AS since, TRY_CAST(until AS INTEGER) AS until, unit, coalesce(nullif(polarity, ''), 'neutral') AS polarity,
       nullif(phase, '') AS phase, nullif(role, '') AS role, nullif(inside, '') AS inside, nullif(kind, '') AS kind,
       nullif(explains, '') AS explains, list_filter(string_split(settings, ' '), lambda t: t <> '') AS settings
FROM (SELECT unnest(from_json(getvariable('catalogue'), '[{"name": "VARCHAR", "same_as": "VARCHAR", "trainer": "VARCHAR", "since": "VARCHAR",
    "until": "VARCHAR", "unit": "VARCHAR", "polarity": "VARCHAR", "phase": "VARCHAR", "role": "VARCHAR", "inside": "VARCHAR", "kind": "VARCHAR",
    "explains": "VARCHAR", "settings": "VARCHAR"}]'), recursive := TRUE));
