"""Messages of all stores that contain given words."""
