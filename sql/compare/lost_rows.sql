-- What a source found to be missing in the tables of a side, by the key of its finding: lost_names (kernels without a name, type or inputs),
-- lost_kernels (which are not counted at all), lost_collectives (collectives without a name or size), damaged_file (the rest of a trace); or that
-- it cannot tell apart: several_processes (in one trace).
-- Depends on c_finding.
-- Nothing without c_finding.
CREATE TABLE c_lost AS
SELECT DISTINCT side, key AS what FROM c_finding WHERE key IN ('lost_names', 'lost_kernels', 'lost_collectives', 'damaged_file', 'several_processes');
