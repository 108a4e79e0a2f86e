"""The site's HTML: a folder for each thing people see, with a frozen dataclass of data for each page.

A view parses the request, calls the rooms below, and renders; fragments for htmx come from the same data as whole pages
(`http`). Session text reaches a template as plain text, or as HTML that `viewer.rendering` made safe. Pages know no
SQL, no file of an agent's and no kind of store: what a store cannot do is a sentence that the store gives.
"""
