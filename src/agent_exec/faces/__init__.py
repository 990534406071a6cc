"""The contracts: each parses what was asked, has it done, and renders the answer."""
