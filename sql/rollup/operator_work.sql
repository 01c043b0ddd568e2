-- What one call of a framework operator computes, from the shapes of its inputs, in captures without a device: elements of all inputs, and
-- floating-point operations of matrix products and attention (kernel_work.sql), whose time follows these. Only of operators that go through all
-- elements of their inputs: views and allocations do not, and the time of convolutions, sorting and the like follows no sum of their inputs.
-- Depends on capture, host_op, tensor_shapes.
-- Nothing without capture, host_op.
CREATE OR REPLACE TEMP TABLE operator_work AS
WITH tensor AS (
    SELECT captures, name, input_shapes, tensor_shapes(input_shapes) AS ins
    FROM (SELECT name, input_shapes, list(DISTINCT capture) AS captures FROM host_op
          WHERE input_shapes IS NOT NULL AND capture IN (SELECT capture FROM capture WHERE executor = 'host') GROUP BY ALL)
), product AS (
    SELECT captures, name, input_shapes, ins, CASE
               WHEN name IN ('aten::mm', 'aten::bmm') THEN CASE WHEN ins[1][-1] = ins[2][-2] THEN 2 * list_product(ins[1]) * ins[2][-1] END
               WHEN name IN ('aten::addmm', 'aten::baddbmm') THEN CASE WHEN ins[2][-1] = ins[3][-2] THEN 2 * list_product(ins[2]) * ins[3][-1] END
               WHEN name = 'aten::_scaled_dot_product_flash_attention_for_cpu' THEN 2 * list_product(ins[1]) * ins[2][3] * (1 + ins[3][4] / ins[1][4])
               WHEN name = 'aten::_scaled_dot_product_flash_attention_for_cpu_backward'
               THEN 2 * list_product(ins[2]) * ins[3][3] * (3 + 2 * ins[4][4] / ins[2][4]) END AS flop
    FROM tensor WHERE list_count(ins) = len(ins)
), counted AS (
    SELECT captures, name, input_shapes, list_sum(list_transform(ins, lambda s: list_product(s))) AS elements, flop
    FROM product
    WHERE flop > 0 OR regexp_full_match(name, 'aten::_?((add|sub|rsub|mul|div|addcmul|addcdiv|lerp|pow|sqrt|rsqrt|reciprocal|exp|log|neg|abs|sign|tanh|sigmoid'
       || '|silu|gelu|relu|leaky_relu|threshold|clamp|clamp_min|clamp_max|maximum|minimum|where|masked_fill|copy|fill|zero|cat|stack|sum|mean|var|std|norm|max|min'
       || '|amax|amin|argmax|cumsum|softmax|log_softmax|logsumexp|native_layer_norm|native_group_norm|native_batch_norm|rms_norm|native_dropout|bernoulli'
       || '|normal|uniform|random|eq|ne|lt|le|gt|ge|logical_not|logical_and|logical_or|bitwise_not|bitwise_and|bitwise_or|nll_loss_forward|mse_loss)_?'
       || '|(gelu|silu|sigmoid|tanh|threshold|softmax|log_softmax|native_layer_norm|native_group_norm|native_batch_norm|native_dropout)_backward(_data)?)')
)
SELECT unnest(captures) AS capture, name, input_shapes, elements, flop FROM counted
WHERE elements BETWEEN 0 AND 1e18 AND coalesce(flop, 0) < 1e21;
