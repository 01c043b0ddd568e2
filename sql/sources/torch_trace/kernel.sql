-- Kernels. A GPU's kernel has no type beside its name (a number behind a compiled kernel's name is only its place in a file), and no shapes of its
-- own: it gets those of the operator that launched it. `cube` stands for matrix units, told by the libraries' names.
-- Depends on trace_task, trace_link.
INSERT INTO stage_kernel BY NAME
SELECT t.id, t.device_id, t.stream, t.name, CASE WHEN starts_with(t.name, 'triton_') THEN regexp_replace(t.name, '_[0-9]+$', '') ELSE t.name END AS op_type,
       t.start_ns, t.end_ns, l.input_shapes, l.input_dtypes, l.launch_ns, l.host_op_id, l.host_op_ns,
       regexp_matches(lower(t.name), 'gemm|gemv|cutlass|conv|wgrad|dgrad|xmma|cijk_|nvjet|flash|fmha|attn_|attention') AS cube
FROM trace_task AS t JOIN trace_link AS l USING (id)
WHERE t.cat = 'kernel' AND NOT t.is_comm;
