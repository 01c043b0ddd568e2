-- What one call of a framework operator computes, from the shapes of its inputs, in captures without a device: elements of all inputs, and
-- floating-point operations of matrix products and attention (kernel_work.sql), whose time follows these. Convolutions and the like have
-- neither, as their time follows no sum of their inputs, and so have nodes of autograd, which call and wait.
-- Depends on capture, host_op, tensor_shapes.
CREATE OR REPLACE TEMP TABLE operator_work AS
WITH tensor AS (
    SELECT captures, name, input_shapes, tensor_shapes(input_shapes) AS ins
    FROM (SELECT name, input_shapes, list(DISTINCT capture) AS captures FROM host_op
          WHERE input_shapes IS NOT NULL AND capture IN (SELECT capture FROM capture WHERE executor = 'host') GROUP BY ALL)
), counted AS (
    SELECT captures, name, input_shapes, list_sum(list_transform(ins, lambda s: list_product(s))) AS elements,
           CASE WHEN name IN ('aten::mm', 'aten::bmm') THEN 2 * list_product(ins[1]) * ins[2][-1]
                WHEN name IN ('aten::addmm', 'aten::baddbmm') THEN 2 * list_product(ins[2]) * ins[3][-1]
                WHEN name = 'aten::_scaled_dot_product_flash_attention_for_cpu' THEN 2 * list_product(ins[1]) * ins[2][3] * (1 + ins[3][4] / ins[1][4])
                WHEN name = 'aten::_scaled_dot_product_flash_attention_for_cpu_backward'
                THEN 2 * list_product(ins[2]) * ins[3][3] * (3 + 2 * ins[4][4] / ins[2][4]) END AS flop
    FROM tensor WHERE starts_with(name, 'aten::') AND list_count(ins) = len(ins)
      AND NOT regexp_matches(name, 'conv|rnn|lstm|gru|einsum|matmul|linear|cdist|linalg|fft|sort|index|gather|scatter|embedding')
), sound AS (
    SELECT captures, name, input_shapes, elements, flop FROM counted WHERE elements BETWEEN 1 AND 1e18 AND coalesce(flop, 0) < 1e21
)
SELECT unnest(captures) AS capture, name, input_shapes, elements, flop FROM sound
WHERE flop > 0 OR NOT regexp_full_match(name, 'aten::(mm|bmm|addmm|baddbmm|.*attention.*)');
