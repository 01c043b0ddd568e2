-- Makes text_kernel: the rows of kernel_details.csv, including communication operators (Accelerator Core HCCL, later COMMUNICATION).
-- `damaged`: there is a start time, but it is not valid. `damaged_length`: the duration, if it is not valid (negative, or text).
-- Columns are read by name, so that unknown ones are ignored and missing ones are NULL. Step Id, Device_id, the shapes, PMU values and Task
-- ID depend on the version and the level. Block Dim became Block Num.
-- Variables: text_kernel_details.
-- Depends on text_device, text_length_ns, text_number, text_step, text_table, text_time_ns.
-- Run by name: for its file.
CREATE OR REPLACE TEMP TABLE text_kernel AS
SELECT row_number() OVER () AS id, text_step("Step Id") AS step, text_device("Device_id") AS device_id, TRY_CAST("Stream ID" AS BIGINT) AS stream,
       TRY_CAST("Task ID" AS BIGINT) AS task_id, "Name" AS name, "Type" AS op_type, "Accelerator Core" AS core_type,
       text_time_ns("Start Time(us)") AS start_ns, text_time_ns("Start Time(us)") + text_length_ns("Duration(us)") AS end_ns,
       nullif(trim("Start Time(us)", E' \t\r\n'), '') IS NOT NULL AND text_time_ns("Start Time(us)") IS NULL AS damaged,
       CASE WHEN text_length_ns("Duration(us)") IS NULL THEN nullif(trim("Duration(us)", E' \t\r\n'), '') END AS damaged_length,
       text_length_ns("Wait Time(us)") AS wait_ns, TRY_CAST(coalesce("Block Num", "Block Dim") AS BIGINT) AS block_num,
       "Input Shapes" AS input_shapes, "Input Data Types" AS input_dtypes, "Input Formats" AS input_formats,
       "Output Shapes" AS output_shapes, "Output Data Types" AS output_dtypes, "Output Formats" AS output_formats,
       text_number("mac_time(us)") AS mac_us, text_number("aiv_vec_time(us)") AS vec_us, text_number("aicore_time(us)") AS aicore_us,
       text_number("aic_total_cycles") AS cycles,
       list_sum([text_number("aic_mac_ratio"), text_number("mac_ratio"), text_number("aic_mac_fp16_ratio"), text_number("aic_mac_int8_ratio"),
                 text_number("mac_fp16_ratio"), text_number("mac_int8_ratio")]) AS cube_ratio,
       coalesce(text_number("aic_mte2_ratio"), text_number("mte2_ratio")) AS load_ratio,
       list_sum([text_number("aic_write_cache_hit"), text_number("aic_r0_read_cache_hit"), text_number("aic_r1_read_cache_hit"),
                 text_number("write_cache_hit"), text_number("r0_read_cache_hit"), text_number("r1_read_cache_hit")]) AS l2_hits,
       list_sum([text_number("aic_write_cache_miss_allocate"), text_number("aic_r0_read_cache_miss_allocate"),
                 text_number("aic_r1_read_cache_miss_allocate"), text_number("write_cache_miss_allocate"),
                 text_number("r0_read_cache_miss_allocate"), text_number("r1_read_cache_miss_allocate")]) AS l2_misses,
       coalesce("Accelerator Core" IN ('HCCL', 'COMMUNICATION'), FALSE) AS is_comm
FROM (
    SELECT NULL::VARCHAR AS "Step Id", NULL::VARCHAR AS "Device_id", NULL::VARCHAR AS "Stream ID", NULL::VARCHAR AS "Task ID",
           NULL::VARCHAR AS "Name", NULL::VARCHAR AS "Type", NULL::VARCHAR AS "Accelerator Core", NULL::VARCHAR AS "Start Time(us)",
           NULL::VARCHAR AS "Duration(us)", NULL::VARCHAR AS "Wait Time(us)", NULL::VARCHAR AS "Block Dim", NULL::VARCHAR AS "Block Num",
           NULL::VARCHAR AS "Input Shapes", NULL::VARCHAR AS "Input Data Types", NULL::VARCHAR AS "Input Formats",
           NULL::VARCHAR AS "Output Shapes", NULL::VARCHAR AS "Output Data Types", NULL::VARCHAR AS "Output Formats",
           NULL::VARCHAR AS "mac_time(us)", NULL::VARCHAR AS "aiv_vec_time(us)", NULL::VARCHAR AS "aicore_time(us)", NULL::VARCHAR AS "aic_total_cycles",
           NULL::VARCHAR AS "aic_mac_ratio", NULL::VARCHAR AS "mac_ratio", NULL::VARCHAR AS "aic_mac_fp16_ratio",
           NULL::VARCHAR AS "aic_mac_int8_ratio", NULL::VARCHAR AS "mac_fp16_ratio", NULL::VARCHAR AS "mac_int8_ratio",
           NULL::VARCHAR AS "aic_mte2_ratio", NULL::VARCHAR AS "mte2_ratio", NULL::VARCHAR AS "aic_write_cache_hit",
           NULL::VARCHAR AS "aic_write_cache_miss_allocate", NULL::VARCHAR AS "aic_r0_read_cache_hit", NULL::VARCHAR AS "aic_r0_read_cache_miss_allocate",
           NULL::VARCHAR AS "aic_r1_read_cache_hit", NULL::VARCHAR AS "aic_r1_read_cache_miss_allocate", NULL::VARCHAR AS "write_cache_hit",
           NULL::VARCHAR AS "write_cache_miss_allocate", NULL::VARCHAR AS "r0_read_cache_hit", NULL::VARCHAR AS "r0_read_cache_miss_allocate",
           NULL::VARCHAR AS "r1_read_cache_hit", NULL::VARCHAR AS "r1_read_cache_miss_allocate" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_kernel_details'))
);
