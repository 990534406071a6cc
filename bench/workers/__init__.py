"""The contestants that run in Python, each a worker process: `python -m bench.workers.NAME WORDS...`."""
