-- The domains of each capture: it has one if the table of the domain has its rows; kernels only without device times.
-- Depends on c_account, c_allocation, c_api, c_kernel, c_link, c_module, c_operator, c_phase, c_stack, c_task, c_time.
-- Nothing without c_account + c_allocation + c_api + c_kernel + c_link + c_module + c_operator + c_phase + c_stack +
-- c_task.
CREATE TABLE c_domain_present AS
SELECT side, run, capture, 'kernel' AS domain, bool_or(whole) AS whole FROM c_kernel
WHERE (side, run, capture) NOT IN (SELECT side, run, capture FROM c_time WHERE compute_ns IS NOT NULL) GROUP BY ALL
UNION ALL SELECT side, run, capture, 'operator', bool_or(whole) FROM c_operator GROUP BY ALL
UNION ALL SELECT side, run, capture, 'api ' || layer, bool_or(whole) FROM c_api GROUP BY ALL
UNION ALL SELECT side, run, capture, 'link', bool_or(whole) FROM c_link GROUP BY ALL
UNION ALL SELECT DISTINCT side, run, capture, 'stack', TRUE FROM c_stack
UNION ALL SELECT DISTINCT side, run, capture, 'module', FALSE FROM c_module
UNION ALL SELECT DISTINCT side, run, capture, 'task', FALSE FROM c_task
UNION ALL SELECT DISTINCT side, run, capture, 'phase', FALSE FROM c_phase
UNION ALL SELECT DISTINCT side, run, capture, 'account', FALSE FROM c_account
UNION ALL SELECT DISTINCT side, run, capture, 'wall', FALSE FROM c_phase WHERE wall_ns IS NOT NULL
UNION ALL SELECT side, run, capture, 'allocation', bool_or(whole) FROM c_allocation GROUP BY ALL;
