"""The command line for people: answers as text and tables, output as it comes."""
