"""OpenCode as tests know it: by hand, and databases that the real one wrote."""
