-- What export_memory_timeline wrote: bytes of one device by category of tensor.
CREATE TABLE memory_category (
    capture INTEGER NOT NULL,
    category VARCHAR NOT NULL,  -- parameter | optimizer_state | input | temporary | activation | gradient | autograd_detail | unknown
    peak_bytes BIGINT NOT NULL, -- each category at its own fullest moment
    mean_bytes BIGINT NOT NULL  -- over time
);
