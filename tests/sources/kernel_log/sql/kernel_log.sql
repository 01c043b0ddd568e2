-- The rows of one log.
-- Variables: kernel_log_path.
CREATE OR REPLACE TEMP TABLE kernel_log AS
SELECT row_number() OVER () AS id, step, device, kernel, kind, start_ns, start_ns + duration_ns AS end_ns
FROM read_csv(getvariable('kernel_log_path'), skip = 1, header = TRUE, hive_partitioning = FALSE, columns = {
    'step': 'BIGINT', 'device': 'INTEGER', 'kernel': 'VARCHAR', 'kind': 'VARCHAR', 'start_ns': 'BIGINT', 'duration_ns': 'BIGINT'
});
