-- The account: what each nanosecond of a step went to, per capture, device, step and phase (docs/design.md §5). The rows of a marked step sum
-- to its length on the host, those of a step without marks to the span of its device tasks.
CREATE TABLE r_account (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    kind VARCHAR NOT NULL,     -- compute | wait | transfer | comm | copy | queue | launch | data | sync | gc | alloc | compile | collective call | operator | python | unknown
    subject VARCHAR,           -- kernel without running numbers | rank that comes last (wait) | collective | direction of the copy | next kernel (queue, launch) | operator, call or range of the host; NULL: none
    op_type VARCHAR,           -- operator type of the kernel, or kind of the collective (wait); NULL: unknown, or neither
    core_type VARCHAR,         -- core type of a kernel; NULL: unknown, or no kernel
    input_dtypes VARCHAR,      -- data types of a kernel's inputs; NULL: not recorded
    host_op VARCHAR,           -- name of the operator that launched a kernel; NULL: unknown
    group_ranks VARCHAR,       -- global ranks of a collective's group; NULL: unknown
    ns BIGINT NOT NULL,        -- time, in ns; always positive
    pieces BIGINT NOT NULL     -- number of uninterrupted pieces that this time consists of
);
