-- Shortens long names.
-- Variables: long_names.
-- Depends on short_name, stage_host_op, stage_kernel.
-- Run by name: for captures that long_names gives (the variable).
UPDATE stage_kernel SET name = short_name(name), op_type = short_name(op_type)
WHERE list_contains(getvariable('long_names'), capture) AND (strlen(name) > 128 OR strlen(op_type) > 128);
UPDATE stage_host_op SET name = short_name(name) WHERE list_contains(getvariable('long_names'), capture) AND strlen(name) > 128;
