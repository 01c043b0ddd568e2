-- Memory of one device by category of tensor, from export_memory_timeline.
CREATE TABLE memory_category (
    capture INTEGER NOT NULL,    -- capture.capture
    category VARCHAR NOT NULL,   -- parameter | optimizer_state | input | temporary | activation | gradient | autograd_detail | unknown
    peak_bytes BIGINT NOT NULL,  -- highest level of this category; categories peak at different times
    mean_bytes BIGINT NOT NULL   -- mean over time
);
