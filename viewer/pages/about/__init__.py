"""What this site is for, for somebody who sees it for the first time."""
