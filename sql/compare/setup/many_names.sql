-- Whether a store has very many names of one kind. The number of different names is estimated: a few percent more or less do not matter.
-- Variables: most_names.
-- Depends on r_account, r_kernel, r_msprof, r_operator.
-- Run by name: for each large store, before the others are loaded.
SELECT greatest((SELECT greatest(approx_count_distinct(name), approx_count_distinct(op_type)) FROM store.r_kernel),
                (SELECT greatest(approx_count_distinct(subject), approx_count_distinct(op_type)) FROM store.r_account),
                (SELECT approx_count_distinct(name) FROM store.r_msprof),
                (SELECT approx_count_distinct(name) FROM store.r_operator)) > getvariable('most_names');
