-- Names of ranges that may be the user's own phases (user_phase): those that torch, its libraries or a communication library make are left out.
-- Depends on range, stage_host_op.
-- Nothing without range + stage_host_op.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE range_name AS   -- apart, so that patterns are matched once for each name
SELECT name FROM "range" WHERE side = 'host' AND kind = 'range' AND name IS NOT NULL
UNION
SELECT name FROM stage_host_op WHERE sequence_number IS NULL AND input_shapes IS NULL AND input_dtypes IS NULL AND name IS NOT NULL;
CREATE OR REPLACE TEMP TABLE own_range AS   -- running numbers are one name
SELECT name AS mark, trim(regexp_replace(regexp_replace(name, '\d+', 'N', 'g'), '^[#\s]+|[#\s]+$', '', 'g')) AS name
FROM range_name WHERE NOT regexp_matches(name, '::|^(ProfilerStep|Optimizer\.|enumerate\(|nn\.Module: |(Data|Distributed|FullySharded)\w*Parallel\.|Forward Pass$|(nccl|gloo|hccl|rccl|xccl|mpi|ucc)[:A-Z]|aclnn|hcom_|Hccl)|Backward\d*$|_event$|CompiledFxGraph|Torch-Compiled|TorchDynamo|AOTDispatcher|Pregraph bytecode|CompiledFunction|PyTorch Profiler|Record Window End');
