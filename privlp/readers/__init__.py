"""Readers: programs from files, from other software, and from rows in blocks."""
