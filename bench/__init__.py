"""Side-by-side measurements of the engine, against C and against the standard library."""
