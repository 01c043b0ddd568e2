-- Converts values of a torch.profiler trace. An invalid value is NULL.
--   trace_category    the current name of an event's category: in 2021 the names were Operator, Runtime, Kernel, Memcpy and Memset.
-- The JSON has no spaces, as DuckDB writes it.
--   trace_shapes      the dimensions of an operator's arguments, [[2,3],[],[4]], as "2,3;;4".
--   trace_types       the types of its arguments, ["float","Scalar"], as "float;Scalar".
--   trace_has_out     whether the last of an operator's arguments is `out`, which has the shape of the product: torch records it as one more input.
--   trace_without_out such a text of dimensions or types without it, so that a product has the same inputs in both forms.
--   trace_elements    elements of all arguments in such a text of dimensions. trace_bytes: their size.
--   trace_dtype       a torch data type in the words of `dtype_bytes`.
--   trace_ranks       "[0, 1]" as "0,1"; NULL for a list that was shortened.
--   trace_collective  the word for a kind of collective: from "_allgather_base", "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL".
-- Depends on dtype_bytes.
-- Run by name: before all others.
CREATE OR REPLACE TEMP MACRO trace_category(cat) AS
    CASE lower(cat) WHEN 'operator' THEN 'cpu_op' WHEN 'runtime' THEN 'cuda_runtime' WHEN 'memcpy' THEN 'gpu_memcpy' WHEN 'memset' THEN 'gpu_memset'
         ELSE lower(cat) END;
CREATE OR REPLACE TEMP MACRO trace_shapes(value) AS (
    CASE WHEN starts_with(value, '[[') THEN replace(replace(replace(value[3:-3], '],[', ';'), '[', ''), ']', '') END);
CREATE OR REPLACE TEMP MACRO trace_types(value) AS (
    CASE WHEN starts_with(value, '["') THEN replace(replace(value[3:-3], '","', ';'), 'c10::', '') END);
CREATE OR REPLACE TEMP MACRO trace_is_product(dims, place, last) AS
    len(dims) = last AND dims[last] = regexp_replace(dims[place], '[0-9]+$', '') || regexp_extract(dims[place + 1], '[0-9]+$');
CREATE OR REPLACE TEMP MACRO trace_has_out(name, shapes) AS coalesce(CASE
    WHEN name IN ('aten::mm', 'aten::bmm') THEN trace_is_product(string_split(shapes, ';'), 1, 3)
    WHEN name IN ('aten::addmm', 'aten::baddbmm') THEN trace_is_product(string_split(shapes, ';'), 2, 6) END, FALSE);
CREATE OR REPLACE TEMP MACRO trace_without_out(text) AS regexp_replace(text, ';[^;]*$', '');
CREATE OR REPLACE TEMP MACRO trace_elements(shapes) AS
    list_sum(list_transform(string_split(shapes, ';'), lambda s: CASE WHEN regexp_full_match(s, '[0-9]{1,15}(,[0-9]{1,15})*')
                                                                      THEN list_product(CAST(string_split(s, ',') AS DOUBLE[])) END));
CREATE OR REPLACE TEMP MACRO trace_dtype(text) AS CASE regexp_replace(lower(text), '^(c10|at|torch)(::|\.)', '')
    WHEN 'float' THEN 'FP32' WHEN 'float32' THEN 'FP32' WHEN 'double' THEN 'FP64' WHEN 'float64' THEN 'FP64'
    WHEN 'half' THEN 'FP16' WHEN 'float16' THEN 'FP16' WHEN 'bfloat16' THEN 'BFP16'
    WHEN 'long' THEN 'INT64' WHEN 'long int' THEN 'INT64' WHEN 'int64' THEN 'INT64' WHEN 'int' THEN 'INT32' WHEN 'int32' THEN 'INT32'
    WHEN 'short' THEN 'INT16' WHEN 'short int' THEN 'INT16' WHEN 'int16' THEN 'INT16'
    WHEN 'char' THEN 'INT8' WHEN 'signed char' THEN 'INT8' WHEN 'int8' THEN 'INT8'
    WHEN 'byte' THEN 'UINT8' WHEN 'unsigned char' THEN 'UINT8' WHEN 'uint8' THEN 'UINT8' WHEN 'bool' THEN 'UINT8'
    WHEN 'float8_e4m3fn' THEN 'FP8E4M3' WHEN 'float8_e5m2' THEN 'FP8E5M2'
    ELSE nullif(upper(text), '') END;
CREATE OR REPLACE TEMP MACRO trace_bytes(elements, dtype) AS
    CASE WHEN elements BETWEEN 0 AND 1e17 THEN CAST(elements * dtype_bytes(dtype) AS BIGINT) END;
CREATE OR REPLACE TEMP MACRO trace_ranks(text) AS
    CASE WHEN regexp_full_match(text, '\[\s*[0-9]+(\s*,\s*[0-9]+)*\s*\]') THEN regexp_replace(text, '[\[\]\s]', '', 'g') END;
CREATE OR REPLACE TEMP MACRO trace_collective_word(word) AS CASE
    WHEN contains(word, 'allreduce') OR contains(word, 'crossdevicereduce') THEN 'allreduce'
    WHEN contains(word, 'reducescatter') THEN 'reducescatter' WHEN contains(word, 'allgather') THEN 'allgather'
    WHEN contains(word, 'alltoallv') THEN 'alltoallv' WHEN contains(word, 'alltoall') OR contains(word, 'deepep') THEN 'alltoall'
    WHEN contains(word, 'broadcast') THEN 'broadcast' WHEN contains(word, 'sendrecv') THEN 'batchsendrecv'
    WHEN contains(word, 'send') THEN 'send' WHEN contains(word, 'recv') THEN 'recv'
    WHEN contains(word, 'scatter') THEN 'scatter' WHEN contains(word, 'gather') THEN 'gather' WHEN contains(word, 'reduce') THEN 'reduce'
    WHEN contains(word, 'barrier') THEN 'barrier'
END;
CREATE OR REPLACE TEMP MACRO trace_collective(text) AS trace_collective_word(regexp_replace(lower(text), '[^a-z]', '', 'g'));
