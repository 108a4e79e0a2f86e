"""What of messages that leave the context is lost: statements by what they are, and details."""
