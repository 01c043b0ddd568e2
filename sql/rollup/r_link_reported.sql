-- Transfers by group and pair of ranks that the profiler reported. It numbers ranks by their index in the group. If the members of the group are
-- known, the index is replaced by the global rank. A reported transfer names its group as the collectives do, or by a hash. The last three digits
-- of the hash are part of the collectives' names ("hcom_allReduce__210_0_1").
-- Depends on link, r_collective.
-- Nothing without link.
INSERT INTO r_link
WITH of_name AS (
    SELECT DISTINCT capture, group_name, group_key FROM r_collective WHERE group_name IS NOT NULL
), of_digits AS (
    SELECT capture, regexp_extract(name, '__([0-9]{3})_', 1) AS digits, any_value(group_key) AS group_key
    FROM r_collective GROUP BY capture, digits HAVING digits <> '' AND count(DISTINCT r_collective.group_key) = 1
), group_of AS (
    SELECT l.capture, l.group_name, coalesce(any_value(n.group_key), any_value(d.group_key)) AS group_key, sum(l.size_bytes) AS size_bytes
    FROM link AS l
    LEFT JOIN of_name AS n ON n.capture = l.capture AND n.group_name = l.group_name
    LEFT JOIN of_digits AS d ON d.capture = l.capture AND d.digits = right(l.group_name, 3)
    GROUP BY l.capture, l.group_name
), keyed AS (
    SELECT capture, group_name, coalesce(group_key, 'unlisted group ' || (row_number() OVER (
               PARTITION BY capture, group_key IS NULL ORDER BY size_bytes DESC NULLS LAST, group_name) - 1)) AS group_key
    FROM group_of
), placed AS (
    SELECT l.*, k.group_key, CASE WHEN regexp_full_match(k.group_key, '[0-9]+(,[0-9]+)*') THEN string_split(k.group_key, ',') END AS members
    FROM link AS l JOIN keyed AS k ON k.capture = l.capture AND k.group_name IS NOT DISTINCT FROM l.group_name
)
SELECT capture, step, kind, group_key, CASE WHEN members IS NULL THEN src_rank ELSE TRY(CAST(members[src_rank + 1] AS BIGINT)) END,
       CASE WHEN members IS NULL THEN dst_rank ELSE TRY(CAST(members[dst_rank + 1] AS BIGINT)) END, transport,
       sum(size_bytes) FILTER (size_bytes >= 0), sum(transit_ns) FILTER (transit_ns >= 0)
FROM placed GROUP BY ALL;
