-- Call stacks, only where events are kept.
-- Variables: keep_events.
-- Depends on src_PYTORCH_CALLCHAINS, text_by_id.
-- Nothing without src_PYTORCH_CALLCHAINS.
INSERT INTO stack
SELECT c.capture, c.id, c.depth, s.value
FROM src_PYTORCH_CALLCHAINS AS c LEFT JOIN text_by_id AS s ON s.capture = c.capture AND s.id = c.stack
WHERE getvariable('keep_events') AND c.id IS NOT NULL AND c.depth IS NOT NULL;
