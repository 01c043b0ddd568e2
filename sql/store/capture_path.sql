-- Sets the paths of the captures that were just copied, relative to the input of this run.
-- Depends on capture, taken.
UPDATE capture SET path = taken.path FROM taken WHERE capture.capture = taken.number;
