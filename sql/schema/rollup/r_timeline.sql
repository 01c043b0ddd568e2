-- The stretches of time of which a report can draw what the device did: of each capture with a device, one typical step of the slowest
-- device, and one typical call of each phase, of whichever step (docs/design.md §7). At most eight phases a capture.
CREATE TABLE r_timeline (
    capture INTEGER NOT NULL,    -- capture.capture
    device_id INTEGER,           -- device; NULL: unknown
    step BIGINT NOT NULL,        -- step.step whose time is closest to the median of the capture's steps; that of the call of a phase
    steps BIGINT NOT NULL,       -- number of steps among which it was chosen
    phase VARCHAR,               -- phase.name, of the capture where its folder names it; NULL: the whole step
    calls BIGINT,                -- number of calls of the phase in the step, of which one is shown; NULL: a whole step
    from_ns BIGINT NOT NULL,     -- start: of the step or phase on the host, else of its first device task; in ns since the epoch
    until_ns BIGINT NOT NULL,    -- end: on the host, or of its last device task if that is later; in ns since the epoch
    bucket_ns BIGINT NOT NULL    -- length of a bucket in r_timeline_busy
);
