-- Reads a file of export_memory_timeline for one device: [times, sizes], where each size lists the bytes of each category after a leading
-- 0. The raw form lists changes as [time, action, bytes, category]. The categories are numbered as in torch.profiler._memory_profiler.
-- Memory from before the capture has the time -1, or the earliest one. Means are over time; an empty category counts 0.
-- A negative size is none: the size before it lasts on. Returns the number of sizes, and of those left out.
-- Variables: capture, timeline_bytes (the most that it may hold), timeline_file.
-- Run by name: for a file of export_memory_timeline.
CREATE OR REPLACE TEMP TABLE timeline_document AS
FROM read_json(getvariable('timeline_file'), format = 'unstructured', records = FALSE, hive_partitioning = FALSE, maximum_object_size = getvariable('timeline_bytes'),
               columns = {document: 'JSON'});
CREATE OR REPLACE TEMP TABLE timeline_level AS
WITH plotted AS (
    SELECT CAST(document -> '$[0]' AS BIGINT[]) AS times, CAST(document -> '$[1]' AS BIGINT[][]) AS sizes
    FROM timeline_document WHERE json_type(document, '$[1][0]') = 'ARRAY'
), point AS (
    SELECT unnest(CASE WHEN len(times) = len(sizes) THEN times ELSE error('it has ' || len(times) || ' times and ' || len(sizes) || ' sizes') END) AS time,
           unnest(sizes) AS bytes, generate_subscripts(sizes, 1) AS place
    FROM plotted
), raw AS (
    SELECT CAST(document AS BIGINT[][]) AS events FROM timeline_document WHERE json_type(document, '$[1][0]') IS DISTINCT FROM 'ARRAY'
), change AS (
    SELECT CASE WHEN len(event) = 4 AND event[4] BETWEEN 0 AND 7 THEN event ELSE error('it has an invalid event') END AS event, place
    FROM (SELECT unnest(events, max_depth := 1) AS event, generate_subscripts(events, 1) AS place FROM raw) WHERE len(event) > 0
)
SELECT category, place, time,
       CASE WHEN len(bytes) = 9 THEN bytes[category + 2] ELSE error('it has ' || len(bytes) || ' sizes at a time, not 9') END AS bytes
FROM point CROSS JOIN range(8) AS numbers(category)
UNION ALL
SELECT event[4], place, event[1], sum(event[3]) OVER (PARTITION BY event[4] ORDER BY place) FROM change;
INSERT INTO memory_category
WITH span AS (
    SELECT min(time) FILTER (time >= 0) AS first, max(time) AS last FROM timeline_level
), lasting AS (
    SELECT category, bytes, greatest(coalesce(lead(greatest(time, first)) OVER (PARTITION BY category ORDER BY place), last) - greatest(time, first), 0) AS length
    FROM timeline_level CROSS JOIN span WHERE bytes >= 0
), known AS (
    SELECT category, max(bytes) AS peak_bytes, sum(CAST(bytes AS DOUBLE) * length) AS area FROM lasting GROUP BY category
)
SELECT getvariable('capture'), name, CAST(coalesce(peak_bytes, 0) AS BIGINT),
       CAST(coalesce(CASE WHEN last > first THEN area / (last - first) ELSE peak_bytes END, 0) AS BIGINT)
FROM (VALUES (0, 'parameter'), (1, 'optimizer_state'), (2, 'input'), (3, 'temporary'), (4, 'activation'), (5, 'gradient'), (6, 'autograd_detail'),
             (7, 'unknown')) AS label(category, name)
LEFT JOIN known USING (category) CROSS JOIN span
WHERE first IS NOT NULL;
SELECT count(*), count(*) FILTER (bytes < 0) FROM timeline_level;
