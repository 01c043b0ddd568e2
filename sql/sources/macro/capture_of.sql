-- The capture of a row: stated by the row if several captures were merged into one database, else the capture that is being read.
-- Variables: capture, merged.
CREATE OR REPLACE TEMP MACRO capture_of(number) AS
    CASE WHEN getvariable('merged') THEN TRY_CAST(number AS INTEGER) ELSE getvariable('capture') END;
