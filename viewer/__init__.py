"""The site: everything that knows Django, HTTP or a database."""
