-- Call stacks, outermost frame last.
CREATE TABLE stack (
    capture INTEGER NOT NULL,  -- capture.capture
    id BIGINT NOT NULL,        -- number of the call chain, as in the profile
    depth INTEGER NOT NULL,    -- position of the frame; the outermost has the highest
    frame VARCHAR              -- file, line and function
);
