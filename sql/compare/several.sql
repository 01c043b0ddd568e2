-- Roles of a side with several captures: only these can differ from each other.
-- Depends on c_capture.
-- Nothing without c_capture.
CREATE TABLE c_several AS
SELECT side, role, folder FROM c_capture GROUP BY ALL HAVING count(*) > 1;
