-- Ranks and steps that can be selected in the run that is being loaded.
-- Variables: run, side.
-- Depends on c_capture, c_step, capture.
SELECT (SELECT list(DISTINCT rank ORDER BY rank) FROM c_capture WHERE replica IS NULL AND side = getvariable('side') AND run = getvariable('run')) AS ranks,
       (SELECT list(DISTINCT rank ORDER BY rank) FROM store.capture WHERE rank IS NOT NULL AND replica IS NULL) AS all_ranks,
       (SELECT list(DISTINCT step ORDER BY step) FROM c_step WHERE side = getvariable('side') AND run = getvariable('run')) AS steps;
