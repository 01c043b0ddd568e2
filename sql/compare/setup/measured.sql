-- What the store of a run holds of its measurements, as a number for each capture that does not depend on the order of rows; capture is NULL for
-- metrics, and for what depends on all captures of the run. Stores that have the same numbers cannot show a change. Sums of floating-point numbers
-- may differ in their last digits between stores of the same profile: these count to 7 digits.
-- Depends on memory_category, metric, r_account, r_allocation, r_api, r_collective, r_collective_task, r_copy,
-- r_counter, r_kernel, r_level, r_link, r_memory, r_module, r_msprof, r_operator, r_path, r_phase, r_sequence, r_stack,
-- r_time, r_timeline, r_timeline_busy, r_timeline_event, r_window, reported_api, reported_step_time, step.
-- Run by name: for runs whose files may be the same.
SELECT capture, sum(row_hash) AS number
FROM (
    SELECT NULL AS capture, hash('metric', step, name, value, profiled, warmup) AS row_hash FROM store.metric
    UNION ALL SELECT NULL, hash('r_path', *COLUMNS(* EXCLUDE (capture))) FROM store.r_path
    UNION ALL SELECT NULL, hash('r_account', *COLUMNS(* EXCLUDE (capture))) FROM store.r_account WHERE kind IN ('wait', 'transfer', 'comm')
    UNION ALL SELECT capture, hash('r_account', *COLUMNS(* EXCLUDE (capture))) FROM store.r_account WHERE kind NOT IN ('wait', 'transfer', 'comm')
    UNION ALL SELECT capture, hash('step', *COLUMNS(* EXCLUDE (capture))) FROM store.step
    UNION ALL SELECT capture, hash('memory_category', *COLUMNS(* EXCLUDE (capture))) FROM store.memory_category
    UNION ALL SELECT capture, hash('reported_api', *COLUMNS(* EXCLUDE (capture))) FROM store.reported_api
    UNION ALL SELECT capture, hash('reported_step_time', *COLUMNS(* EXCLUDE (capture))) FROM store.reported_step_time
    UNION ALL SELECT capture, hash('r_allocation', *COLUMNS(* EXCLUDE (capture))) FROM store.r_allocation
    UNION ALL SELECT capture, hash('r_api', *COLUMNS(* EXCLUDE (capture))) FROM store.r_api
    UNION ALL SELECT capture, hash('r_collective', *COLUMNS(* EXCLUDE (capture))) FROM store.r_collective
    UNION ALL SELECT capture, hash('r_collective_task', *COLUMNS(* EXCLUDE (capture))) FROM store.r_collective_task
    UNION ALL SELECT capture, hash('r_copy', *COLUMNS(* EXCLUDE (capture))) FROM store.r_copy
    UNION ALL SELECT capture, hash('r_counter', *COLUMNS(* EXCLUDE (capture) REPLACE (CAST(mean AS FLOAT) AS mean))) FROM store.r_counter
    UNION ALL SELECT capture, hash('r_kernel', *COLUMNS(* EXCLUDE (capture) REPLACE (CAST(elements AS FLOAT) AS elements, CAST(flop AS FLOAT) AS flop,
                                                                                     CAST(bytes AS FLOAT) AS bytes))) FROM store.r_kernel
    UNION ALL SELECT capture, hash('r_level', *COLUMNS(* EXCLUDE (capture))) FROM store.r_level
    UNION ALL SELECT capture, hash('r_link', *COLUMNS(* EXCLUDE (capture))) FROM store.r_link
    UNION ALL SELECT capture, hash('r_memory', *COLUMNS(* EXCLUDE (capture))) FROM store.r_memory
    UNION ALL SELECT capture, hash('r_module', *COLUMNS(* EXCLUDE (capture))) FROM store.r_module
    UNION ALL SELECT capture, hash('r_msprof', *COLUMNS(* EXCLUDE (capture) REPLACE (CAST(total_ns AS FLOAT) AS total_ns))) FROM store.r_msprof
    UNION ALL SELECT capture, hash('r_operator', *COLUMNS(* EXCLUDE (capture) REPLACE (CAST(elements AS FLOAT) AS elements, CAST(flop AS FLOAT) AS flop))) FROM store.r_operator
    UNION ALL SELECT capture, hash('r_phase', *COLUMNS(* EXCLUDE (capture))) FROM store.r_phase
    UNION ALL SELECT capture, hash('r_sequence', *COLUMNS(* EXCLUDE (capture))) FROM store.r_sequence
    UNION ALL SELECT capture, hash('r_stack', *COLUMNS(* EXCLUDE (capture))) FROM store.r_stack
    UNION ALL SELECT capture, hash('r_time', *COLUMNS(* EXCLUDE (capture))) FROM store.r_time
    UNION ALL SELECT capture, hash('r_timeline', *COLUMNS(* EXCLUDE (capture))) FROM store.r_timeline
    UNION ALL SELECT capture, hash('r_timeline_busy', *COLUMNS(* EXCLUDE (capture))) FROM store.r_timeline_busy
    UNION ALL SELECT capture, hash('r_timeline_event', *COLUMNS(* EXCLUDE (capture))) FROM store.r_timeline_event
    UNION ALL SELECT capture, hash('r_window', *COLUMNS(* EXCLUDE (capture))) FROM store.r_window
)
GROUP BY capture;
