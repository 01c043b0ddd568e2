"""The history of a repository's runs: kept in a file or in PostgreSQL, searched for changes, asked for the noise."""
