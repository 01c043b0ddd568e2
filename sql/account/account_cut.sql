-- Where a path over the ranks may begin or end on a track: the starts of collectives, and the ends of the pieces in which the device only
-- communicates (in captures without a device: waits for a collective). Tracks without collectives are not cut.
-- Depends on account_host, account_segment, account_start, account_track, capture.
CREATE OR REPLACE TEMP TABLE account_cut AS
SELECT track, at_ns FROM account_start
UNION
SELECT track, until_ns FROM account_segment WHERE kind = 'comm' AND track IN (SELECT track FROM account_start)
UNION
SELECT track, until_ns FROM account_host
WHERE kind = 'collective call' AND track IN (SELECT s.track FROM account_start AS s JOIN account_track AS t ON t.track = s.track
                                             JOIN capture AS c ON c.capture = t.capture WHERE c.executor = 'host');
