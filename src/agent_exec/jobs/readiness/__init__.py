"""Readiness by evidence: conditions on a running job, and what proves that each is true."""
