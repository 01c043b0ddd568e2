-- The account of the critical path of a job of several ranks: what each nanosecond of the job's step went to, on the rank on which the job
-- waited for it (docs/design.md §5). The rows of all captures and steps of a job sum to the time from the first start on any rank to the last
-- end; where no rank begins a step before all have ended the last one, those of each step do. Made at the run stage.
CREATE TABLE r_path (
    capture INTEGER NOT NULL,  -- capture.capture on which the path is
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    phase VARCHAR,             -- phase.name; of a late start capture.phase; NULL: outside all phases
    kind VARCHAR NOT NULL,     -- as in r_account, late start (the step has begun on another rank, and not on this one), or between steps
    subject VARCHAR,           -- as in r_account; rank that begins the step (late start); NULL: none
    op_type VARCHAR,           -- as in r_account; NULL: unknown, or neither a kernel nor waiting
    core_type VARCHAR,         -- core type of a kernel; NULL: unknown, or no kernel
    input_dtypes VARCHAR,      -- data types of a kernel's inputs, or of a collective; NULL: not recorded
    host_op VARCHAR,           -- name of the operator that launched a kernel; NULL: unknown
    group_ranks VARCHAR,       -- global ranks of a collective's group; NULL: unknown
    ns BIGINT NOT NULL,        -- time, in ns; always positive
    pieces BIGINT NOT NULL     -- number of uninterrupted pieces that this time consists of
);
