-- Memory by category of tensor of one run. Not by step.
-- Variables: run, side.
-- Depends on c_capture, memory_category.
-- Nothing without c_capture, memory_category.
CREATE TABLE IF NOT EXISTS c_memory_category (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    category VARCHAR NOT NULL,
    peak_bytes BIGINT NOT NULL,
    mean_bytes BIGINT NOT NULL
);
INSERT INTO c_memory_category
SELECT c.side, c.run, c.capture, m.category, m.peak_bytes, m.mean_bytes
FROM store.memory_category AS m
JOIN c_capture AS c ON c.capture = m.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
