"""What travels between the stages and between batches: jobs, parcels, packets, rows as they are read, mapped files."""
