"""HANDING OUT: what a student gets, made from an exercise's sources."""
