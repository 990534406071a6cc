"""What the kernel of Linux offers to confine a process, one file for each of its means.

All of this is for a process that has no threads and is about to confine
itself. Each failure is an OSError that names the call: a process that goes on after
one runs a command that is not confined.
"""
