-- The time of each name in one store, by the hash of the name: names may be long.
-- Depends on known_as, r_account, r_kernel, r_msprof, r_operator.
-- Run by name: for each store of both sides, if one of them has very many names.
CREATE TABLE IF NOT EXISTS c_weight (
    place VARCHAR NOT NULL,   -- the column of the names
    name UBIGINT NOT NULL,
    ns HUGEINT NOT NULL
);
INSERT INTO c_weight
WITH named AS (
    SELECT 'kernel' AS place, known_as(name) AS name, sum_ns AS ns FROM store.r_kernel
    UNION ALL SELECT 'kernel type', known_as(op_type), sum_ns FROM store.r_kernel
    UNION ALL SELECT 'account', known_as(subject), ns FROM store.r_account
    UNION ALL SELECT 'account type', known_as(op_type), ns FROM store.r_account
    UNION ALL SELECT 'operator', known_as(name), greatest(host_self_ns, device_self_ns) FROM store.r_operator
    UNION ALL SELECT 'msprof', known_as(name), CAST(total_ns AS HUGEINT) FROM store.r_msprof
)
SELECT place, hash(name), coalesce(sum(ns), 0) FROM named WHERE name IS NOT NULL GROUP BY ALL;
