-- The texts of the rows of r_block, once for each capture and combination.
CREATE TABLE r_label (
    capture INTEGER NOT NULL,  -- capture.capture
    label INTEGER NOT NULL,    -- number, unique in the capture
    kind VARCHAR NOT NULL,     -- as in r_account
    subject VARCHAR,           -- as in r_account; NULL: none
    op_type VARCHAR,           -- as in r_account; NULL: unknown, or no kernel
    core_type VARCHAR,         -- core type of a kernel; NULL: unknown, or no kernel
    input_dtypes VARCHAR,      -- data types of a kernel's inputs; NULL: not recorded, or no kernel
    host_op VARCHAR            -- name of the operator that launched a kernel; NULL: unknown, or no kernel
);
