"""Whole runs of the tool, timed against loopback servers with injected latencies."""
