"""What kinds of stores share whose sessions are files of one JSON object a line: bounded lines, read by their place.

A file is the truth and is never copied or read whole into memory. What is found in it is a list of small records in the
order of its lines, each with the offset and length of its line; a file that grew is read on from where it ended. What a
record says is for each kind to tell.
"""
