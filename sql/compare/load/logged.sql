-- The names of the metrics of one run, once each: a run may have millions of values.
-- Variables: run, side.
-- Depends on metric.
-- Nothing without metric.
CREATE TABLE IF NOT EXISTS c_logged (side ENUM('baseline', 'new') NOT NULL, run INTEGER NOT NULL, name VARCHAR NOT NULL);
INSERT INTO c_logged SELECT getvariable('side'), getvariable('run'), name FROM store.metric GROUP BY name;
