"""Sessions, messages and stores that the tests of several folders make."""
