-- What a reader should know about the quality of the data: what was missing, damaged, inferred or left out.
CREATE TABLE finding (
    capture INTEGER,
    severity VARCHAR NOT NULL, -- info | warning
    key VARCHAR NOT NULL,      -- a stable word, such as db_preferred, unknown_string, damaged_time, missing_file
    message VARCHAR NOT NULL   -- one sentence
);
