"""The contract of the toolkit: one command, run once in a workspace, answered as a dict."""
