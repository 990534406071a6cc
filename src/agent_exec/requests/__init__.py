"""From a request to a command that may start: folders, variables, rules, approvals."""
