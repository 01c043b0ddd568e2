-- Decodes values of an Nsight Systems export.
--   nsys_pid   the process in a globalPid or globalTid: machine (16 bits), process (24), thread (24).
--   nsys_here  whether something belongs to the process that is read (variable nsys_pid; NULL: the whole file is read). What names no process
--              belongs to the only one that runs kernels.
--   nsys_call  a call without the version of its interface: cudaLaunchKernel_v7000, cudaMemcpyAsync_ptsz_v7000.
--   nsys_message_bytes  what NCCL attaches to its ranges: {"Message size [bytes]": 4096, …}.
-- Variables: nsys_alone, nsys_pid.
-- Run by name: before the views are made.
CREATE OR REPLACE TEMP MACRO nsys_pid(global_id) AS ((global_id >> 24) & 16777215);
CREATE OR REPLACE TEMP MACRO nsys_here(pid) AS (getvariable('nsys_pid') IS NULL OR coalesce(pid = getvariable('nsys_pid'), getvariable('nsys_alone')));
CREATE OR REPLACE TEMP MACRO nsys_call(name) AS regexp_replace(name, '(_pt[sd][sz])?_v[0-9]+$', '');
CREATE OR REPLACE TEMP MACRO nsys_message_bytes(json) AS TRY_CAST(regexp_extract(json, '"Message size \[bytes\]"\s*:\s*"?([0-9]{1,18})', 1) AS BIGINT);
