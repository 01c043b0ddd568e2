-- Rates of kernels, copies and links that no chip reaches: how many rows of their sections, and the one with the largest, by side.
-- Depends on c_achieved, c_copy, c_link, unreached_rate.
-- Nothing without c_achieved + c_copy + c_link.
SELECT side, count(*) AS rows, arg_max(name, {'rate': rate, 'name': name}) AS name FROM (
    SELECT side, op AS name, beyond_rate AS rate FROM c_achieved
    UNION ALL
    SELECT side, kind, unreached_rate(sum(size_bytes) / nullif(sum(sum_ns), 0)) FROM c_copy GROUP BY side, kind
    UNION ALL
    SELECT side, coalesce(CAST(src_rank AS VARCHAR), '?') || '→' || coalesce(CAST(dst_rank AS VARCHAR), '?'),
           unreached_rate(sum(size_bytes) / nullif(sum(transit_ns), 0))
    FROM c_link GROUP BY side, src_rank, dst_rank, transport, group_key
) WHERE rate IS NOT NULL GROUP BY side ORDER BY side;
