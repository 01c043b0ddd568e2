-- Call stacks, outermost frame last.
CREATE TABLE stack (
    capture INTEGER NOT NULL,
    id BIGINT NOT NULL,
    depth INTEGER NOT NULL,
    frame VARCHAR
);
