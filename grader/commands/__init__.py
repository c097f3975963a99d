"""What each command does.

A command is a function of the parsed arguments that gives the exit status. What is the user's fault it raises
as GraderError, from which the command line makes a message and status 2.
"""
