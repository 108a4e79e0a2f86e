"""What makes the pages quick: sessions and their Histories in our own database. Rebuilt from the stores if lost."""
