-- The entry of the catalogue for each metric of a run, by canonical name. Exact names win over patterns, longer patterns over shorter ones;
-- among lines of the same name those that list the run's trainer win, then those that list none. Names without an entry have no row.
-- Depends on c_catalogue, c_metric, c_trainer.
-- Nothing without c_catalogue, c_metric, c_trainer.
CREATE TABLE c_metric_entry AS
WITH logged AS (
    SELECT DISTINCT name FROM c_metric
), known AS (
    SELECT l.name, c.* EXCLUDE (name), c.name AS pattern
    FROM logged AS l JOIN c_catalogue AS c ON c.name = l.name WHERE c.same_as IS NULL
    UNION ALL
    SELECT l.name, c.* EXCLUDE (name), c.name
    FROM logged AS l JOIN c_catalogue AS c ON l.name GLOB c.name WHERE c.is_pattern AND c.same_as IS NULL
), had AS (
    SELECT DISTINCT m.side, m.run, m.name, t.trainer FROM c_metric AS m JOIN c_trainer AS t USING (side, run)
)
SELECT h.side, h.run, h.name, k.unit, k.polarity, k.phase, k.role, k.inside, k.kind, k.explains, k.of_machine, k.of_work
FROM had AS h JOIN known AS k USING (name)
QUALIFY row_number() OVER (
    PARTITION BY h.side, h.run, enum_code(h.name)
    ORDER BY k.is_pattern, len(k.pattern) DESC, k.pattern, CASE WHEN list_contains(k.trainers, h.trainer) THEN 0 WHEN len(k.trainers) = 0 THEN 1 ELSE 2 END
) = 1;
