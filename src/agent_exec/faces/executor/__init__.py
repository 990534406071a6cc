"""The executor's contract: a program with its arguments, from a list of allowed ones, a few at once."""
