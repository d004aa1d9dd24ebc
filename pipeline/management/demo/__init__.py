"""Demo: three companies with a past of eight weeks, a job that moves, and a job to try out."""
