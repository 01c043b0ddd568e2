-- Step and phase by host time, for ASOF lookups. A row is valid from from_ns until the next row of the capture. Holds all captures of the
-- batch. The first row of a capture starts before any time stamp.
CREATE TEMP TABLE place (
    capture INTEGER NOT NULL,
    from_ns BIGINT NOT NULL,
    step BIGINT,              -- NULL: none
    phase INTEGER             -- phase.id; NULL: none
);
