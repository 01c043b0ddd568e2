-- Exported call stacks by their three innermost frames, each cut to 1,000 characters.
-- Depends on exported_stack.
-- Nothing without exported_stack.
INSERT INTO r_stack
WITH split AS (
    SELECT capture, list_transform(list_reverse(string_split(frames, ';'))[:3], lambda frame: left(trim(frame), 1000)) AS inner_frames, operators, self_ns
    FROM exported_stack
)
SELECT capture, inner_frames[1], array_to_string(inner_frames[2:], ' < '), sum(operators), sum(self_ns) FROM split GROUP BY ALL;
