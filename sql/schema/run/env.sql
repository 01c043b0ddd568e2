-- What the run was made with, by a list of what may be kept. Environment dumps are never stored.
CREATE TABLE env (
    capture INTEGER,        -- capture.capture; NULL: holds for the whole run
    key VARCHAR NOT NULL,   -- chip, cann, torch_npu, world_size, profiler.level, env.HCCL_ALGO, user.<key>, …
    value VARCHAR NOT NULL  -- value as text
);
