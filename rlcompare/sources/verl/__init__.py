"""verl's save_path: the names of its folders and files, and which captures below it are one run."""
