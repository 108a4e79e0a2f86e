"""What is open, what it can do, and why not."""
