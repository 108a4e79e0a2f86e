"""Session text as parts to show: Markdown, code, diffs, terminal output, tool calls. Used by pages and exports.

The input is untrusted text; the output is text, or HTML that nh3 or escaping made safe. The package knows no requests.
"""
