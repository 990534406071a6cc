"""Programs: thin mains over the rooms below."""
