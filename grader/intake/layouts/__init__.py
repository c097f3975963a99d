"""The layouts in which learning platforms hand over what was handed in."""
