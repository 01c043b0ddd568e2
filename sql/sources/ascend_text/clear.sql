-- Drops the intermediate tables.
-- Run by name: after each capture.
DROP TABLE IF EXISTS trace_event;
DROP TABLE IF EXISTS trace_process;
DROP TABLE IF EXISTS trace_thread;
DROP TABLE IF EXISTS trace_task;
DROP TABLE IF EXISTS trace_comm;
DROP TABLE IF EXISTS trace_link;
DROP TABLE IF EXISTS text_kernel;
DROP TABLE IF EXISTS text_l2;
DROP TABLE IF EXISTS text_communication;
DROP TABLE IF EXISTS text_collective;
DROP TABLE IF EXISTS text_group;
DROP TABLE IF EXISTS lost_kernel;
DROP TABLE IF EXISTS lost_collective;
DROP TABLE IF EXISTS lost_count;
