-- Drops the tables of the account, and those that it kept from sql/normalize.
-- Run by name: after the captures of a batch.
DROP TABLE IF EXISTS device_task;
DROP TABLE IF EXISTS placed;
DROP TABLE IF EXISTS account_track;
DROP TABLE IF EXISTS account_window;
DROP TABLE IF EXISTS account_start;
DROP TABLE IF EXISTS account_own;
DROP TABLE IF EXISTS account_segment;
DROP TABLE IF EXISTS account_gap;
DROP TABLE IF EXISTS account_thread;
DROP TABLE IF EXISTS host_reason;
DROP TABLE IF EXISTS account_span;
DROP TABLE IF EXISTS account_wait;
DROP TABLE IF EXISTS account_own_label;
DROP TABLE IF EXISTS account_left;
DROP TABLE IF EXISTS account_host;
DROP TABLE IF EXISTS account_row;
DROP TABLE IF EXISTS kernel_text;
DROP TABLE IF EXISTS kernel_key;
