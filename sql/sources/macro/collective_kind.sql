-- The kind of a collective in one vocabulary (docs/design.md §6): from its type, else from its name (Level0 has only names).
-- hcom_allReduce_, hcom_allReduce__210_0_1 and HcclAllreduce are all_reduce; an unknown word is kept, in lower case.
CREATE OR REPLACE TEMP MACRO collective_word(text) AS lower(regexp_extract(text, '^(?:hcom_|HcclOp_|Hccl|lccl_)?([A-Za-z]+)', 1));
CREATE OR REPLACE TEMP MACRO collective_kind(op_type, name) AS
    CASE coalesce(nullif(collective_word(op_type), ''), nullif(collective_word(name), ''), 'unknown')
        WHEN 'allreduce' THEN 'all_reduce' WHEN 'allgather' THEN 'all_gather' WHEN 'allgatherv' THEN 'all_gather_v'
        WHEN 'reducescatter' THEN 'reduce_scatter' WHEN 'reducescatterv' THEN 'reduce_scatter_v'
        WHEN 'alltoall' THEN 'all_to_all' WHEN 'alltoallv' THEN 'all_to_all_v' WHEN 'alltoallvc' THEN 'all_to_all_v'
        WHEN 'batchsendrecv' THEN 'batch_send_recv' WHEN 'receive' THEN 'recv'
        ELSE coalesce(nullif(collective_word(op_type), ''), nullif(collective_word(name), ''), 'unknown')
    END;
