"""The history of a repository's runs, in a file or in PostgreSQL: searched for changes, used to estimate the noise."""
