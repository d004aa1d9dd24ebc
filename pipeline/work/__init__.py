"""What companies start in the background: what they may, how it is asked for, and their files."""
