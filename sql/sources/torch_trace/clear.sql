-- Drops the intermediate tables.
-- Run by name: after each capture.
DROP TABLE IF EXISTS trace_event;
DROP TABLE IF EXISTS trace_task;
DROP TABLE IF EXISTS trace_inside;
DROP TABLE IF EXISTS trace_link;
DROP TABLE IF EXISTS trace_group;
DROP TABLE IF EXISTS trace_memory;
