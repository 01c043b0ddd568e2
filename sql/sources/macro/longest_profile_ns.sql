-- No profile lasts longer than a week. A time that is farther from the others is damage: the time between would count as idle.
CREATE OR REPLACE TEMP MACRO longest_profile_ns() AS 604800000000000;
