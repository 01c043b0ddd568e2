-- Transfers by pair of ranks. Each group has pseudo operators "allreduce-top1", …, "-bottom3", "-total"; only the totals add up. The kind
-- of collective comes from the operator names in the other rows, because reduce-scatter is printed as "reduce".
-- Variables: capture, text_communication_matrix.
-- Depends on collective_kind, profile_text, text_bytes, text_length_of_ms_ns, text_step.
-- Run by name: for its file.
INSERT INTO link
WITH pair AS (
    SELECT text_step(step.key) AS step, split_part(op.key, '@', 1) AS name, nullif(split_part(op.key, '@', 2), '') AS group_hash,
           pair.key AS ranks, pair.value AS transfer
    FROM json_each(getvariable('text_communication_matrix')::JSON) AS step, json_each(step.value) AS kind,
         json_each(kind.value) AS op, json_each(op.value) AS pair
), typed AS (
    SELECT *, split_part(name, '-', 1) AS word,
           max(nullif(transfer ->> 'Op Name', '')) OVER (PARTITION BY step, group_hash, split_part(name, '-', 1)) AS operator_name
    FROM pair
)
SELECT getvariable('capture'), step, collective_kind(NULL, coalesce(operator_name, word)), group_hash,
       TRY_CAST(split_part(ranks, '-', 1) AS BIGINT), TRY_CAST(split_part(ranks, '-', 2) AS BIGINT), profile_text(transfer ->> 'Transport Type'),
       text_bytes(transfer ->> 'Transit Size(MB)', 1e6), text_length_of_ms_ns(transfer ->> 'Transit Time(ms)')
FROM typed WHERE ends_with(name, '-total');
