"""What the tools of all contracts share: schemas, results, hints, forms for providers, error codes."""
