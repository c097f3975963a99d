"""What the judge and a child agree on: descriptors, what is said, and one exit code."""

# The shared memory and the socket to the judge; from the next number on nothing is open.
MEMORY, JUDGE = 3, 4
FIRST_FREE = 5

# Said by a child: the confinement is on, the module was run, a phase's calls are done.
CONFINED, LOADED, PHASE_DONE = b"C", b"L", b"E"
# Said by an analyst: the report is there.
REPORTED = b"R"

# How a child ends whose confinement could not be put on; nothing of the student's has run then.
NOT_CONFINED = 73
