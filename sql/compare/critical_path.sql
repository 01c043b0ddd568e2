-- Section path: where the time of a job's step goes, on the critical path over its ranks. No rows unless both sides have a path.
-- Depends on paired_of.
-- Nothing without c_path_named.
FROM paired_of('c_path_named');
