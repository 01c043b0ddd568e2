-- Names of the same metric in different releases of verl, or of other loggers. Metrics are matched by the canonical name.
-- Depends on c_catalogue.
-- Nothing without c_catalogue.
CREATE TABLE IF NOT EXISTS c_metric_alias AS
SELECT DISTINCT name, same_as AS canonical FROM c_catalogue WHERE same_as IS NOT NULL;
