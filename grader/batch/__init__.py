"""Many: a class graded by local workers."""
