#!/usr/bin/env python3
"""The command line: `manage.py up | worker | stores | demo | compact | undo | token | signin`."""

from viewer.__main__ import main

if __name__ == "__main__":
    main()
