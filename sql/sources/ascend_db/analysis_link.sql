-- Transfers by pair of ranks that analysis.db reports.
-- Depends on collective_kind, src_CommAnalyzerMatrix.
-- Nothing without src_CommAnalyzerMatrix.
-- Run by name: on analysis.db, after all others.
INSERT INTO link
WITH typed AS (   -- pseudo operators "reduce-top1" … "reduce-total"; rows that name an operator show whether it is a reduce-scatter
    SELECT *, max(nullif(op_name, '')) OVER (PARTITION BY capture, step, group_name, split_part(name, '-', 1)) AS operator_name
    FROM src_CommAnalyzerMatrix
)
SELECT capture, step, collective_kind(NULL, coalesce(operator_name, split_part(name, '-', 1))), group_name,
       src_rank, dst_rank, transport, size_bytes, transit_ns
FROM typed WHERE ends_with(name, '-total');
