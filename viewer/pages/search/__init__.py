"""Messages of all stores that hold given words."""
