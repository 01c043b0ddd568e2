-- Section account: where the time of a step goes, as the mean over ranks.
-- Depends on paired_of.
-- Nothing without c_account_named.
FROM paired_of('c_account_named');
