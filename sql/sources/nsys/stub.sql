-- Every table and column that is read, empty, so that a missing one reads as NULL.
-- Run by name: in a database of its own, once per connection; also by SQLite.
CREATE TABLE StringIds (id BIGINT, value VARCHAR);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start BIGINT, "end" BIGINT, deviceId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT, demangledName BIGINT, shortName BIGINT);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start BIGINT, "end" BIGINT, deviceId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start BIGINT, "end" BIGINT, deviceId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT, bytes BIGINT, copyKind BIGINT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start BIGINT, "end" BIGINT, deviceId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT, bytes BIGINT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start BIGINT, "end" BIGINT, globalTid BIGINT, correlationId BIGINT, nameId BIGINT);
CREATE TABLE NVTX_EVENTS (start BIGINT, "end" BIGINT, eventType BIGINT, text VARCHAR, textId BIGINT, globalTid BIGINT, domainId BIGINT, jsonText VARCHAR, jsonTextId BIGINT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs BIGINT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name VARCHAR, value VARCHAR);
CREATE TABLE TARGET_INFO_GPU (id BIGINT, name VARCHAR);
