-- Operators with inputs of the same shapes, but not known to be of the same data types: these types on each side, each once; NULL: not recorded for all.
-- Depends on c_kernel_keyed, types_of.
-- Nothing without c_kernel_keyed.
WITH typed AS (
    SELECT op AS name, input_shapes, count(exact_dtypes) = count(*) AS known,
           types_of(string_agg(DISTINCT exact_dtypes, ';') FILTER (WHERE side = 'baseline')) AS baseline_types,
           types_of(string_agg(DISTINCT exact_dtypes, ';') FILTER (WHERE side = 'new')) AS new_types
    FROM c_kernel_keyed WHERE NOT loose AND input_shapes IS NOT NULL GROUP BY op, input_shapes HAVING count(DISTINCT side) = 2
)
SELECT name, input_shapes, CASE WHEN known THEN baseline_types END AS baseline_types, CASE WHEN known THEN new_types END AS new_types
FROM typed WHERE NOT known OR baseline_types <> new_types ORDER BY name, input_shapes;
