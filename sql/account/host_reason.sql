-- Names of calls, operators and ranges on the host that are a reason of their own: data, sync, alloc, compile or collective call. They are names
-- of the CUDA, HIP, CANN and torch interfaces; every other name has no row. Calls that only enqueue (StreamWaitEvent), that run compiled code
-- (CompiledFxGraph, aclopCompileAndExecute) or that load it are no reasons.
-- Depends on r_api, range.
-- Nothing without r_api + range.
CREATE OR REPLACE TEMP TABLE host_reason AS
WITH called AS MATERIALIZED (   -- twice, else DuckDB filters by the patterns before it makes the names distinct
    SELECT name FROM r_api WHERE name IS NOT NULL UNION SELECT name FROM "range" WHERE side = 'host' AND name IS NOT NULL
), judged AS MATERIALIZED (
    SELECT name, CASE
        WHEN regexp_matches(name, 'DataLoader.*__next__', 'i') THEN 'data'
        WHEN regexp_matches(name, '(Device|Stream|Event|Ctx|Context|Task)Synchronize|Synchronize(Device|Stream|Event)|^(cuda|hip|(AscendCL@)?aclrt)Memcpy$|^hipMemcpyWithStream$|^aten::(item|_local_scalar_dense|nonzero|is_nonzero)$', 'i') THEN 'sync'
        WHEN regexp_matches(name, '^(cuda|hip|hipExt|hipHost)(Malloc|Free|HostAlloc|HostFree|HostRegister)|^cuMem(Alloc|Free|Create|Map|Unmap|Release|Address|SetAccess)|(aclrt|^rt)(Malloc|Free|MemAlloc|HostMalloc|MapMem|UnmapMem|ReserveMemAddress|ReleaseMemAddress)', 'i') THEN 'alloc'
        WHEN regexp_matches(name, '(^|[^A-Za-z])(re)?compil(e|ing|ation)([^a-z]|$)|_compile_fx|dynamo_timed|rtcCompileProgram', 'i') THEN 'compile'
        WHEN regexp_matches(name, '^(c10d::|_c10d_functional::|gloo:|nccl:|hccl:|xccl:|mpi:|ucc:|record_param_comms|Hccl|hcom_)', 'i') THEN 'collective call'
    END AS reason
    FROM called
)
FROM judged WHERE reason IS NOT NULL;
