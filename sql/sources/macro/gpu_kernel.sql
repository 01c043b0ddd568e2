-- Properties of a GPU kernel by its name; GPU kernels have no type.
--   gpu_kernel_type  without the number after a compiled kernel's name, which is only its position in a file.
--   gpu_kernel_cube  whether it uses matrix units, by the libraries' names.
--   gpu_kernel_comm  whether it communicates: kernels of NCCL, RCCL, MSCCL and DeepEP, of torch's symmetric memory (multimem_…, one_shot_…, two_shot_…),
--                    and the all-reduces of vLLM, SGLang, TensorRT-LLM and FlashInfer, fused ones included.
CREATE OR REPLACE TEMP MACRO gpu_kernel_type(name) AS
    CASE WHEN starts_with(name, 'triton_') THEN regexp_replace(name, '_[0-9]+$', '') ELSE name END;
CREATE OR REPLACE TEMP MACRO gpu_kernel_cube(name) AS
    regexp_matches(lower(name), 'gemm|gemv|cutlass|conv([^e]|$)|wgrad|dgrad|xmma|cijk_|nvjet|flash|fmha|attn_|attention')
    AND NOT regexp_matches(lower(name), 'reshape_and_cache');
CREATE OR REPLACE TEMP MACRO gpu_kernel_comm(name) AS
    regexp_matches(lower(name), '^(void )?(nccl|rccl|msccl)|cross_device_reduce|multimem_(all|one_shot|reduce)|(one|two)_?shot_?(all_?)?reduce|all_?reduce_fusion'
                                || '|deep_ep::(intranode|internode|internode_ll)::|quickreduce::|allreduce_prototype');
