-- Reads a file of export_stacks: one line per operator, with its frames from the outermost, joined with ";", then a blank and whole
-- microseconds. Sums by stack. Parts of frames that differ between two sides for the same code are removed: addresses of objects, paths up
-- to the packages folder, home folders, and all but the last three parts of other paths. Returns the number of lines in another form, and
-- in this form.
-- Variables: capture, stacks_file.
-- Run by name: for a file of export_stacks.
CREATE OR REPLACE TEMP TABLE stack_line AS
SELECT frames, count(*) AS operators, sum(TRY_CAST(microseconds AS BIGINT)) AS self_us
FROM (SELECT regexp_extract(line, '^(.*[^ ;]) ([0-9]{1,12})\r?$', 1) AS frames, regexp_extract(line, ' ([0-9]{1,12})\r?$', 1) AS microseconds
      FROM read_csv(getvariable('stacks_file'), columns = {line: 'VARCHAR'}, auto_detect = FALSE, hive_partitioning = FALSE, header = FALSE, delim = chr(1), quote = '',
                    escape = '', comment = '', strict_mode = FALSE, ignore_errors = TRUE, store_rejects = TRUE)
      WHERE line <> '')
GROUP BY frames;
INSERT INTO exported_stack
WITH plain AS (
    SELECT operators, self_us, regexp_replace(frames, '[ _]at[ _]0x[0-9a-fA-F]+', '', 'g') AS frames FROM stack_line WHERE frames <> ''
), packaged AS (
    SELECT operators, self_us, regexp_replace(frames, '(^|;)[^;]*/(?:site|dist)-packages/', '\1', 'g') AS frames FROM plain
), unowned AS (
    SELECT operators, self_us, regexp_replace(frames, '(^|;)/(?:home/[^/;]+|Users/[^/;]+|root)/', '\1/', 'g') AS frames FROM packaged
), short AS (
    SELECT operators, self_us, regexp_replace(frames, '(^|;)/[^;(]*/([^/;(]+/[^/;(]+/[^/;(]+[(])', '\1\2', 'g') AS frames FROM unowned
), bare AS (
    SELECT operators, self_us, regexp_replace(frames, '(^|;)/', '\1', 'g') AS frames FROM short
)
SELECT getvariable('capture'), frames, CAST(sum(operators) AS BIGINT), CAST(sum(self_us) * 1000 AS BIGINT) FROM bare GROUP BY frames;
SELECT coalesce(sum(operators) FILTER (frames = ''), 0), coalesce(sum(operators) FILTER (frames <> ''), 0) FROM stack_line;
