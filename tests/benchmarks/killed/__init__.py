"""The programs that tests/benchmarks/kill.py kills, each with the same job."""
