-- How kernels were matched: the share of their time that has equal keys on both sides, by exact shapes; the loosely matched operators, most
-- time first; whether a side has no types, so that names are the keys, or no shapes, so that types are.
-- Depends on c_kernel, c_kernel_match.
SELECT (SELECT sum(exact_ns ORDER BY op) / nullif(sum(total_ns ORDER BY op), 0) FROM c_kernel_match) AS exact_share,
       (SELECT list(op ORDER BY total_ns DESC, op) FROM c_kernel_match WHERE loose) AS loose,
       EXISTS (SELECT side FROM c_kernel GROUP BY side HAVING count(op_type) = 0) AS by_name,
       EXISTS (SELECT side FROM c_kernel GROUP BY side HAVING count(input_shapes) = 0) AS by_type;
