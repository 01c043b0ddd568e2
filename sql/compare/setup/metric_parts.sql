-- The metrics in parts of about as many values as most_values says, in the order of their names: (first name, last name).
-- Variables: most_values.
-- Depends on c_metric.
-- Run by name: if there are very many values.
WITH counted AS (
    SELECT name, count(*) AS amount FROM c_metric GROUP BY name
), placed AS (
    SELECT name, (sum(amount) OVER (ORDER BY enum_code(name)) - 1) // getvariable('most_values') AS part FROM counted
)
SELECT CAST(min(name) AS VARCHAR), CAST(max(name) AS VARCHAR) FROM placed GROUP BY part ORDER BY part;
