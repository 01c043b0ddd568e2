-- Versions and settings of the run. Only keys on an allowlist are stored, never an environment dump.
CREATE TABLE env (
    capture INTEGER,        -- capture.capture; NULL: applies to the whole run
    key VARCHAR NOT NULL,   -- chip, cann, torch_npu, world_size, profiler.level, env.HCCL_ALGO, user.<key>, …
    value VARCHAR NOT NULL  -- value as text
);
