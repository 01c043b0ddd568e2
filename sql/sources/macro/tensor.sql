-- Shapes, data types and formats of tensors, as profiles write them: one entry per tensor, separated by ';'.
--   tensor_shapes  the dimensions of each; [] for a scalar or an absent tensor, NULL for what cannot be read. NULL for a text that was cut.
--   tensor_types   the data type of each, in one spelling: 'DT_BF16' and 'c10::BFloat16' are BFLOAT16, 'FLOAT' is FLOAT32.
--   type_bytes     the size in bytes of one element of such a type; NULL for an unknown type.
--   tensor_bytes   the size in bytes of all tensors together; NULL unless all shapes and types are known.
CREATE OR REPLACE TEMP MACRO tensor_shapes(shapes) AS
    CASE WHEN length(shapes) < 10000 THEN list_transform(string_split(shapes, ';'), lambda s: CASE
        WHEN regexp_full_match(trim(s), '[0-9]{1,15}(,[0-9]{1,15})*') THEN CAST(string_split(trim(s), ',') AS DOUBLE[])
        WHEN trim(s) = '' THEN CAST([] AS DOUBLE[]) END) END;
CREATE OR REPLACE TEMP MACRO tensor_types(types) AS
    list_transform(string_split(types, ';'), lambda t: CASE regexp_replace(upper(trim(t)), '^(DT_|C10::)', '')
        WHEN 'FLOAT' THEN 'FLOAT32' WHEN 'HALF' THEN 'FLOAT16' WHEN 'BF16' THEN 'BFLOAT16' WHEN 'DOUBLE' THEN 'FLOAT64'
        WHEN 'CHAR' THEN 'INT8' WHEN 'SIGNED CHAR' THEN 'INT8' WHEN 'UNSIGNED CHAR' THEN 'UINT8' WHEN 'SHORT' THEN 'INT16'
        WHEN 'INT' THEN 'INT32' WHEN 'LONG' THEN 'INT64' WHEN 'LONG INT' THEN 'INT64'
        ELSE regexp_replace(upper(trim(t)), '^(DT_|C10::)', '') END);
CREATE OR REPLACE TEMP MACRO type_bytes(type) AS CASE
    WHEN type IN ('BOOL', 'INT8', 'UINT8', 'HIFLOAT8', 'FLOAT8_E4M3FN', 'FLOAT8_E5M2') THEN 1
    WHEN type IN ('INT16', 'UINT16', 'FLOAT16', 'BFLOAT16') THEN 2
    WHEN type IN ('INT32', 'UINT32', 'FLOAT32') THEN 4
    WHEN type IN ('INT64', 'UINT64', 'FLOAT64', 'COMPLEX64') THEN 8
    WHEN type IN ('COMPLEX128') THEN 16
END;
CREATE OR REPLACE TEMP MACRO tensor_bytes(shapes, types) AS
    CASE WHEN len(shapes) = len(types) AND list_count(list_transform(range(1, len(shapes) + 1), lambda n:
              CASE WHEN len(shapes[n]) = 0 THEN 0 ELSE list_product(shapes[n]) * type_bytes(types[n]) END)) = len(shapes)
         THEN list_sum(list_transform(range(1, len(shapes) + 1), lambda n:
              CASE WHEN len(shapes[n]) = 0 THEN 0 ELSE list_product(shapes[n]) * type_bytes(types[n]) END)) END;
