-- The number that the sum of a capture is divided by. With it, the sum over all captures of a side is the value of that side
-- (docs/design.md §4): the mean over runs of the sum over groups of the mean over members of the mean over steps. A member counts only in
-- the domains that it measured: a rank whose profile has no kernels does not count for kernels. Within a domain, a missing row counts 0.
-- Depends on c_capture, c_domain_steps.
-- Nothing without c_capture, c_domain_steps.
CREATE TABLE c_divisor AS
WITH sized AS (
    SELECT *, count(*) OVER (PARTITION BY side, run, role, folder, domain) AS members
    FROM (SELECT side, run, role, folder, member, domain, max(steps) AS steps FROM c_domain_steps WHERE steps > 0 GROUP BY ALL)
), replicated AS (
    SELECT side, domain, count(DISTINCT run) AS runs FROM sized GROUP BY side, domain
)
SELECT c.side, c.run, c.capture, s.domain, CAST(s.steps * s.members * r.runs AS BIGINT) AS divisor, s.steps, r.runs
FROM sized AS s
JOIN replicated AS r USING (side, domain)
JOIN c_capture AS c USING (side, run, role, folder, member);
