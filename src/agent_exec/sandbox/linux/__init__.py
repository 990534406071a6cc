"""What the kernel of Linux offers to confine a process, one file for each of its means.

All of this is for a process that has no threads and is about to confine
itself. Whatever fails is an OSError that names the call: who goes on after
one runs a command that is not confined.
"""
