-- Notes on data quality: what was missing, damaged, inferred or left out.
CREATE TABLE finding (
    capture INTEGER,            -- capture.capture; NULL: about the whole run
    severity VARCHAR NOT NULL,  -- info | warning
    key VARCHAR NOT NULL,       -- stable identifier, such as db_preferred, damaged_time, missing_file
    message VARCHAR NOT NULL    -- one sentence for the reader
);
