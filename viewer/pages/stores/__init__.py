"""The stores that are open, and what each can and cannot do."""
