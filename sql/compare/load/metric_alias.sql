-- The name under which each metric of one run is compared: releases of verl and other loggers name the same metric differently. Where two
-- loggers mean different things by one name, the line of the run's trainer counts, as in c_metric_entry.
-- Variables: run, side.
-- Depends on c_catalogue, c_logged, c_trainer.
-- Nothing without c_logged, c_trainer.
CREATE TABLE IF NOT EXISTS c_metric_alias (
    side ENUM('baseline', 'new') NOT NULL,
    run INTEGER NOT NULL,
    name VARCHAR NOT NULL,    -- canonical name: that of the first release of verl with this metric
    given VARCHAR NOT NULL    -- name in the run
);
INSERT INTO c_metric_alias
SELECT l.side, l.run, coalesce(c.same_as, l.name), l.name
FROM c_logged AS l JOIN c_trainer AS t USING (side, run) LEFT JOIN c_catalogue AS c USING (name)
WHERE l.side = getvariable('side') AND l.run = getvariable('run')
QUALIFY row_number() OVER (
    PARTITION BY l.name ORDER BY CASE WHEN list_contains(c.trainers, t.trainer) THEN 0 WHEN len(c.trainers) = 0 THEN 1 ELSE 2 END, c.same_as
) = 1;
