-- Metrics that one side logs under the name of an earlier verl and the other under that of a later one, between which their meaning changed.
-- Depends on c_metric, c_metric_alias.
SELECT a.drift, list(DISTINCT a.canonical ORDER BY a.canonical) AS names, any_value(o.side ORDER BY o.side) AS earlier
FROM c_metric_alias AS a
JOIN c_metric AS n ON n.name = a.name AND n.name <> a.canonical
JOIN c_metric AS o ON o.name = a.canonical AND o.side <> n.side
WHERE a.drift IS NOT NULL GROUP BY a.drift ORDER BY a.drift;
