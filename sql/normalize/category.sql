-- Category of each kernel in msprof-analyze's classes (docs/design.md §4): by the kernel's own name, then by the framework operator that
-- launched it, then by its type. Of nested cube operators around a launch, only the outermost counts. If `cube` is unknown, the core type
-- decides. msprof-analyze uses "other" in that case, and so does kernel.msprof_category.
-- Depends on stage_host_op, stage_kernel.
-- Nothing without stage_host_op + stage_kernel.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE operator_name AS   -- names apart, so that patterns are matched once for each: DuckDB moves a filter below DISTINCT
SELECT DISTINCT name FROM stage_host_op;
CREATE OR REPLACE TEMP TABLE kernel_name AS
SELECT row_number() OVER () AS number, * FROM (SELECT DISTINCT name, op_type FROM stage_kernel);
CREATE OR REPLACE TEMP TABLE kernel_category AS
WITH cube_name AS (
    SELECT name, CASE
               WHEN regexp_matches(lower(name), 'flash_attention|fusion_attention|flashattn|xformers_flash|efficient_attention|flash2attn') THEN 'flash_attention'
               WHEN contains(lower(name), 'aten::conv') THEN 'conv'
               WHEN regexp_matches(lower(name), 'aten::(addmm|bmm|mm|matmul)') THEN 'matmul' END
           || CASE WHEN regexp_matches(lower(name), 'bwd|back|grad') THEN '_backward' ELSE '_forward' END AS class
    FROM operator_name
), cube_operator AS (
    SELECT capture, start_ns, end_ns, class
    FROM (
        SELECT o.capture, o.start_ns, o.end_ns, n.class,
               max(o.end_ns) OVER (PARTITION BY o.capture ORDER BY o.start_ns, o.end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
        FROM stage_host_op AS o JOIN cube_name AS n ON n.name = o.name AND n.class IS NOT NULL
    ) WHERE covered_ns IS NULL OR end_ns > covered_ns
), launched AS (   -- the ASOF join sorts numbers only, for speed
    SELECT k.capture, k.id, k.number, k.cube IS NULL AS unknown_to_msprof, coalesce(k.cube, k.of_cube) AS cube, CASE WHEN o.start_ns <= k.host_op_ns THEN o.class END AS operator_class
    FROM (
        SELECT s.capture, s.id, n.number, s.host_op_ns, s.cube, s.core_type IN ('AI_CORE', 'MIX_AIC') AS of_cube
        FROM stage_kernel AS s JOIN kernel_name AS n ON n.name IS NOT DISTINCT FROM s.name AND n.op_type IS NOT DISTINCT FROM s.op_type
    ) AS k ASOF LEFT JOIN cube_operator AS o ON o.capture = k.capture AND k.host_op_ns <= o.end_ns
), named AS (
    SELECT number,
           CASE WHEN contains(lower(op_type), 'pagedattention') THEN 'paged_attention'
                WHEN starts_with(lower(name), 'aclnninplacecopy') AND contains(lower(name), 'tensormove') THEN 'sdma_tensor_move'
                WHEN lower(name) IN ('allgathermatmul', 'matmulreducescatter', 'matmulallreduce') THEN 'mc2' END AS by_name,
           CASE WHEN regexp_matches(lower(op_type), 'flashattention|fusedinferattention')
                    THEN CASE WHEN regexp_matches(lower(op_type), 'bwd|grad') THEN 'flash_attention_backward_cube' ELSE 'flash_attention_forward_cube' END
                WHEN starts_with(lower(op_type), 'conv')
                    THEN CASE WHEN regexp_matches(lower(op_type), 'bwd|back|grad') THEN 'conv_backward_cube' ELSE 'conv_forward_cube' END
                WHEN contains(lower(op_type), 'matmul') THEN 'matmul_cube' END AS by_type,
           CASE WHEN regexp_matches(lower(name), 'cast|transdata|transpose') THEN 'vector_trans' ELSE 'vector_no_trans' END AS on_vector
    FROM kernel_name
)
SELECT l.capture, l.id, l.unknown_to_msprof, CASE
    WHEN l.cube IS NULL THEN 'other'
    WHEN n.by_name IS NOT NULL THEN n.by_name
    WHEN starts_with(l.operator_class, 'matmul') THEN CASE WHEN l.cube THEN 'matmul_cube' ELSE 'matmul_vector' END
    WHEN l.operator_class IS NOT NULL THEN l.operator_class || CASE WHEN l.cube THEN '_cube' ELSE '_vector' END
    WHEN n.by_type IS NOT NULL THEN n.by_type
    WHEN l.cube THEN 'cube'
    ELSE n.on_vector
END AS category
FROM launched AS l JOIN named AS n ON n.number = l.number;
