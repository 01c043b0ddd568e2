-- The capture that a row is of: what the row says where several captures were put into one database, else the one that is being read.
-- Variables: capture, merged.
CREATE OR REPLACE TEMP MACRO capture_of(number) AS
    CASE WHEN getvariable('merged') THEN TRY_CAST(number AS INTEGER) ELSE getvariable('capture') END;
