"""verl's save_path: what its folders and files are called, and which captures below it are one run."""
