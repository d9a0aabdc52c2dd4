"""What comes of it: result tables, how they are read, what batches report and count."""
