-- Levels over time, thinned: of each of 60 equal parts of the time, the lowest and the highest sample. So no peak is lost.
CREATE TABLE r_level (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    what VARCHAR NOT NULL,     -- allocated | reserved (bytes of memory), clock (MHz of AI Core)
    component VARCHAR,         -- memory.component, but for sums and CANN modules; NULL for clock
    ts_ns BIGINT NOT NULL,     -- time, in ns since the epoch
    value DOUBLE NOT NULL      -- the level from then on, until the next sample
);
