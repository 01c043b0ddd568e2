-- The name of a kernel without running numbers (docs/design.md §6), because at Level0 the name is the only key.
CREATE OR REPLACE TEMP MACRO bare_name(name) AS
    CASE WHEN starts_with(name, 'aclnn') THEN name
         ELSE regexp_replace(regexp_replace(name, '(_|@)\d+$', ''), '([A-UW-Za-z])\d+(_|$)', '\1\2', 'g') END;
