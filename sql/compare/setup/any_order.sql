-- Whether a side has at most two divisors in each domain. Then side_mean sums at most two amounts, and their order does not matter.
-- Depends on c_divisor.
-- Run by name: as soon as the divisors are known.
SELECT coalesce(max(divisors), 0) <= 2 FROM (SELECT count(DISTINCT divisor) AS divisors FROM c_divisor GROUP BY side, domain);
