"""Session text as parts to show: Markdown, code, diffs, terminal output, tool calls. Used by pages and exports.

What enters is untrusted text; what leaves is text, or HTML that nh3 or escaping made safe. It knows no request.
"""
