"""Shared code of the kinds of stores whose sessions are files with one JSON object per line.

A file is never copied or read whole into memory. What is read from it is a list of small records in the order of its
lines, each with the offset and length of its line; a file that grew is read on from where it ended. What a record
contains is up to each kind.
"""
