-- Which step and phase each moment on the host belongs to, as the times at which that changes, for lookups (ASOF) by what has a time there.
-- Of all captures. The first row of a capture begins before all times.
CREATE TEMP TABLE place (
    capture INTEGER NOT NULL,
    from_ns BIGINT NOT NULL,
    step BIGINT,              -- NULL: none
    phase INTEGER             -- phase.id; NULL: none
);
