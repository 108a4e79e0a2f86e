"""What is lost of messages that leave the context: statements by category, and details."""
