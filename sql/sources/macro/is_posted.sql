-- is_posted(name, transport): whether a task of a collective only posts its transfer (RDMA, between machines). How long the transfer takes is
-- part of a later Notify_Wait.
CREATE OR REPLACE TEMP MACRO is_posted(name, transport) AS coalesce(starts_with(name, 'RDMA') OR transport = 'RDMA', FALSE);
