-- peak_of(kernels, counters, settings): what the chip of each capture can compute at most, in floating-point operations per nanosecond (1,000 are
-- 1 TFLOP/s), for dense matrices of FLOAT16 or BFLOAT16 (`half`) and of INT8. NULL: unknown. The arguments name r_kernel, r_counter and env.
--   Ascend  cube cores × clock × 8,192 operations per cycle and core, INT8 twice as much: a cube multiplies two 16 × 16 matrices of FLOAT16 in
--           each cycle. Chips of one name have different numbers of cores and clocks: the cores are the largest number of blocks of a matrix
--           kernel in the profile, the clock is the mean of the sampled frequency, else that by which the profiler turned cycles into times. A number below
--           20 means that no kernel filled the chip, one above 32 is no number of cores.
--   GPU     published by the vendor for the device's name. Parts of a device (MIG) and other names are unknown.
-- reached_rate(rate), unreached_rate(rate): a rate in GB/s or TFLOP/s if a chip can reach it, else NULL, and the other way round: none moves or
-- computes more than 100,000 (a B200 moves 8 TB/s, and computes 10,000 TFLOP/s of FP4).
-- Run by name: on each connection, because a temporary macro belongs to one.
CREATE OR REPLACE TEMP MACRO reached_rate(rate) AS CASE WHEN rate <= 100000 THEN rate END;
CREATE OR REPLACE TEMP MACRO unreached_rate(rate) AS CASE WHEN rate > 100000 THEN rate END;
CREATE OR REPLACE TEMP MACRO peak_of(kernels, counters, settings) AS TABLE
WITH cube AS (
    SELECT max(block_num) AS cores FROM query_table(kernels)
    WHERE core_type IN ('AI_CORE', 'MIX_AIC') AND regexp_matches(lower(op_type), '^(batch|grouped)?mat_?mul|^conv[23]d|^flashattentionscore')
), clock AS (
    SELECT capture, coalesce(avg(mean ORDER BY device_id) FILTER (WHERE name = 'aicore_freq_mhz'), avg(mean ORDER BY device_id)) AS mhz
    FROM query_table(counters) WHERE name IN ('aicore_freq_mhz', 'aicore_clock_mhz') AND mean BETWEEN 100 AND 10000 GROUP BY capture
), chip AS (
    SELECT k.capture, string_agg(DISTINCT e.value, ',' ORDER BY e.value) AS chip
    FROM (SELECT DISTINCT capture FROM query_table(kernels)) AS k
    LEFT JOIN query_table(settings) AS e ON e.key = 'chip' AND coalesce(e.capture, k.capture) = k.capture GROUP BY k.capture
), published AS (
    FROM (VALUES   -- TFLOP/s of dense FLOAT16 and BFLOAT16
        ('A100(-SXM4)?-(40|80)GB|A100 80GB PCIe|A100-PCIE-(40|80)GB|A100-PG509-200|A800(-SXM4)?-80GB', 312),
        ('H100 80GB HBM3|H800|H200', 989), ('H100 PCIe', 756), ('H20', 148), ('B200', 2250), ('MI300X( VF)?', 1307)
    ) AS p (device, half)
)
SELECT c.capture, coalesce(p.half * 1000.0, a.half) AS half_flop_per_ns, CASE WHEN p.half IS NULL THEN 2 * a.half END AS int8_flop_per_ns
FROM chip AS c
LEFT JOIN published AS p ON regexp_full_match(c.chip, '((NVIDIA|AMD|Instinct) )*(' || p.device || ')')
LEFT JOIN (SELECT capture, cores * mhz * 8.192 AS half FROM clock, cube WHERE cores BETWEEN 20 AND 32) AS a
  ON a.capture = c.capture AND (c.chip IS NULL OR regexp_full_match(lower(c.chip), 'ascend910[a-z0-9_]*'));
