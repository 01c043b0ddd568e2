-- Kernels of operators whose time per call and size of inputs tell less than more exact rows do. Those that several places in the code launch,
-- by place: the phase and the launching operator. What each place runs differs, so that a mean over them tells little of one. Only where all places
-- of one side are on the other, too: a place that got another name is not gone. And those whose shapes vary, with their floating-point operations,
-- where these are known for all of a row: the time of a matrix product follows them, not the elements of its inputs.
-- Depends on c_kernel_keyed, c_kernel_match, known_mean, side_mean, sum_if_known.
-- Nothing without c_kernel_keyed, c_kernel_match.
WITH place AS (
    SELECT op, exact_phase, exact_host_op, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new
    FROM c_kernel_keyed GROUP BY op, exact_phase, exact_host_op
), several AS (
    SELECT op, bool_and(in_baseline) OR bool_and(in_new) AS same_places FROM place JOIN c_kernel_match USING (op)
    WHERE on_both GROUP BY op HAVING bool_or(loose) OR (count(*) > 1 AND same_places)
), exact AS (
    SELECT op, input_shapes, input_dtypes, exact_phase, CASE WHEN same_places THEN exact_host_op END AS exact_host_op, loose, side, divisor, sum(calls) AS calls, sum(ns) AS ns,
           sum(busy_ns) AS busy_ns, sum(elements) AS elements, sum_if_known(flop) AS flop
    FROM c_kernel_keyed JOIN several USING (op) GROUP BY ALL
)
SELECT op AS name, input_shapes, input_dtypes, exact_phase AS phase, exact_host_op AS host_op,
       bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(busy_ns, divisor, side = 'baseline') AS baseline_busy_ns, side_mean(busy_ns, divisor, side = 'new') AS new_busy_ns,
       CASE WHEN loose THEN side_mean(elements, divisor, side = 'baseline') END AS baseline_elements,
       CASE WHEN loose THEN side_mean(elements, divisor, side = 'new') END AS new_elements,
       CASE WHEN loose THEN known_mean(flop, divisor, side = 'baseline') END AS baseline_flop,
       CASE WHEN loose THEN known_mean(flop, divisor, side = 'new') END AS new_flop
FROM exact GROUP BY op, input_shapes, input_dtypes, exact_phase, exact_host_op, loose;
