"""`python -m kitchensinks` is the `sinks` command."""

from kitchensinks.cli import main

if __name__ == "__main__":
    main()
