"""Confinement by the kernel: what a command may touch, and the ways to have it enforced."""
