-- Category of each kernel in msprof-analyze's classes (docs/design.md §4): by the kernel's own name, then by the framework operator that
-- launched it, then by its type. Of nested cube operators around a launch, only the outermost counts. If `cube` is unknown, the core type
-- decides. msprof-analyze uses "other" in that case, and so does kernel.msprof_category.
-- Depends on stage_host_op, stage_kernel.
-- Runs after once.
CREATE OR REPLACE TEMP TABLE kernel_category AS
WITH cube_operator AS (
    SELECT capture, start_ns, end_ns, class || direction AS class
    FROM (
        SELECT capture, start_ns, end_ns,
               CASE WHEN regexp_matches(lower(name), 'flash_attention|fusion_attention|flashattn|xformers_flash|efficient_attention|flash2attn') THEN 'flash_attention'
                    WHEN contains(lower(name), 'aten::conv') THEN 'conv'
                    WHEN regexp_matches(lower(name), 'aten::(addmm|bmm|mm|matmul)') THEN 'matmul' END AS class,
               CASE WHEN regexp_matches(lower(name), 'bwd|back|grad') THEN '_backward' ELSE '_forward' END AS direction,
               max(end_ns) OVER (PARTITION BY capture ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
        FROM stage_host_op
        WHERE regexp_matches(lower(name), 'flash_attention|fusion_attention|flashattn|xformers_flash|efficient_attention|flash2attn|aten::conv|aten::(addmm|bmm|mm|matmul)')
    ) WHERE covered_ns IS NULL OR end_ns > covered_ns
), launched AS (
    SELECT k.capture, k.id, k.name, k.op_type, k.cube IS NULL AS unknown_to_msprof, coalesce(k.cube, k.core_type IN ('AI_CORE', 'MIX_AIC')) AS cube, CASE WHEN o.start_ns <= k.host_op_ns THEN o.class END AS operator_class
    FROM stage_kernel AS k ASOF LEFT JOIN cube_operator AS o ON o.capture = k.capture AND k.host_op_ns <= o.end_ns
)
SELECT capture, id, unknown_to_msprof, CASE
    WHEN cube IS NULL THEN 'other'
    WHEN contains(lower(op_type), 'pagedattention') THEN 'paged_attention'
    WHEN starts_with(lower(name), 'aclnninplacecopy') AND contains(lower(name), 'tensormove') THEN 'sdma_tensor_move'
    WHEN lower(name) IN ('allgathermatmul', 'matmulreducescatter', 'matmulallreduce') THEN 'mc2'
    WHEN starts_with(operator_class, 'matmul') THEN CASE WHEN cube THEN 'matmul_cube' ELSE 'matmul_vector' END
    WHEN operator_class IS NOT NULL THEN operator_class || CASE WHEN cube THEN '_cube' ELSE '_vector' END
    WHEN regexp_matches(lower(op_type), 'flashattention|fusedinferattention')
        THEN CASE WHEN regexp_matches(lower(op_type), 'bwd|grad') THEN 'flash_attention_backward_cube' ELSE 'flash_attention_forward_cube' END
    WHEN starts_with(lower(op_type), 'conv')
        THEN CASE WHEN regexp_matches(lower(op_type), 'bwd|back|grad') THEN 'conv_backward_cube' ELSE 'conv_forward_cube' END
    WHEN contains(lower(op_type), 'matmul') THEN 'matmul_cube'
    WHEN cube THEN 'cube'
    WHEN regexp_matches(lower(name), 'cast|transdata|transpose') THEN 'vector_trans'
    ELSE 'vector_no_trans'
END AS category
FROM launched;
