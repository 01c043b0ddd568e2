-- What is missing, damaged or inferred.
-- Depends on finding, shown_work.
SELECT severity, message, captures FROM (
    SELECT severity, key, message, count(*) AS captures FROM finding GROUP BY severity, key, message
    UNION ALL
    SELECT 'warning', 'beyond_peak', printf('kernels exceed the peak of the chip (kinds and shapes: %d; %s %.1f times as much): ', count(*),
               arg_max(left(kernel, 80), {'part': beyond_peak, 'kernel': kernel}), max(beyond_peak))
           || 'their times, shapes or clock frequency are wrong, so their share of the peak is not shown', 1
    FROM shown_work WHERE beyond_peak IS NOT NULL HAVING count(*) > 0
    UNION ALL
    SELECT 'warning', 'beyond_rate', printf('rates above 100,000 GB/s or TFLOP/s, which no chip reaches, are not shown (rows: %d): ', count(*))
           || 'times, sizes or shapes are wrong, or a kernel uses only a part of its inputs', 1
    FROM shown_work WHERE beyond_rate HAVING count(*) > 0
) ORDER BY severity DESC, key, message LIMIT 40;
