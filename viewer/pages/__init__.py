"""The site's HTML: a folder for each thing people see.

A view parses the request, calls lower packages, and gives a template their values, which it formats by filters
(`viewer.rendering.templatetags`). Fragments for htmx come from the same data as whole pages (`http`). A dataclass here
makes a decision about a value, or names everything that the HTML of a cached part depends on. Session text reaches a
template as plain text, or as HTML that `viewer.rendering` made safe. Pages know no SQL, no agent's files and no kind of
store: the store gives a sentence for what it cannot do.
"""
