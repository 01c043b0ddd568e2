-- Rows of the section efficiency that achieve more than the chip can: how many, and the one farthest beyond the peak, by side.
-- Depends on c_achieved.
-- Nothing without c_achieved.
SELECT side, count(*) AS rows, arg_max(op, {'part': beyond_peak, 'op': op}) AS name, max(beyond_peak) AS part
FROM c_achieved WHERE beyond_peak IS NOT NULL GROUP BY side ORDER BY side;
