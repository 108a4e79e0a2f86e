"""The site's HTML: a folder for each thing people see.

A view parses the request, calls the rooms below, and gives a template their values, which it formats by filters
(`viewer.rendering.templatetags`). Fragments for htmx come from the same data as whole pages (`http`). A dataclass here
decides something about a value, or names all that the HTML of a cached part depends on. Session text reaches a template
as plain text, or as HTML that `viewer.rendering` made safe. Pages know no SQL, no file of an agent's and no kind of
store: what a store cannot do is a sentence that the store gives.
"""
