"""`python -m viewer COMMAND`, by which one process of the site starts another, wherever it is installed."""

from viewer.command_line import main

if __name__ == "__main__":
    main()
