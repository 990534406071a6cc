"""The one way out of a box: a proxy that dials only what an allow-list names, and logs every decision."""
