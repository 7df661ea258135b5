"""Linear programs: their data and checks, their public part, readers and writers."""
