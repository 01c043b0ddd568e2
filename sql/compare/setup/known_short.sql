-- known_as(name): names as captures with very many long names have them, so that both sides have the same.
-- Depends on short_name.
-- Run by name: on each connection, in place of the macro of the same name, if a store has such names.
CREATE OR REPLACE TEMP MACRO known_as(name) AS short_name(name);
