-- One boolean: are step times or transfers reported for this capture? If not, analysis.db may have them.
-- Variables: capture.
-- Depends on link, reported_step_time.
SELECT EXISTS (FROM reported_step_time WHERE capture = getvariable('capture')) OR EXISTS (FROM link WHERE capture = getvariable('capture'));
