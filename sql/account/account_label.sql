-- The texts of a row of the account, numbered, so that rows are grouped by a number. account_label has each combination once. account_source tells the
-- label of what a piece of time is: `source` is compute (`number`: kernel_key.key), launch, queue or unknown (the key of the next kernel, or -1), copy
-- (-1, by `name`), or what the capture calls its executor: device or host (account_activity.activity). In captures without a device the host is the
-- device: an operator computes.
-- Depends on account_activity, copy, kernel_text.
CREATE OR REPLACE TEMP TABLE account_source AS
WITH source AS (
    SELECT 'compute' AS source, key AS number, 'compute' AS kind, name AS subject, op_type, core_type, input_dtypes, host_op FROM kernel_text
    UNION ALL
    SELECT c.cause, k.key, c.cause, k.name, k.op_type, NULL, NULL, NULL FROM kernel_text AS k CROSS JOIN (VALUES ('launch'), ('queue')) AS c (cause)
    UNION ALL
    SELECT cause, -1, cause, NULL, NULL, NULL, NULL, NULL FROM (VALUES ('launch'), ('queue'), ('unknown')) AS c (cause)
    UNION ALL
    SELECT DISTINCT 'copy', -1, 'copy', kind, NULL, NULL, NULL, NULL FROM copy
    UNION ALL
    SELECT 'device', activity, kind, name, NULL, NULL, NULL, NULL FROM account_activity
    UNION ALL
    SELECT 'host', activity, CASE WHEN kind = 'operator' OR (kind = 'sync' AND starts_with(name, 'aten::')) THEN 'compute' ELSE kind END, name,
           NULL, NULL, NULL, NULL
    FROM account_activity
)
SELECT *, dense_rank() OVER (ORDER BY kind, subject, op_type, core_type, input_dtypes, host_op) AS label FROM source;
CREATE OR REPLACE TEMP TABLE account_label AS
SELECT DISTINCT label, kind, subject, op_type, core_type, input_dtypes, host_op FROM account_source;
