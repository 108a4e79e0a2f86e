"""All runs of this site and all compactions found in the stores."""
