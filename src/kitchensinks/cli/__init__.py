"""The `sinks` command: the library's own calls from a terminal."""
