"""What a confined command changed, and what was denied."""
