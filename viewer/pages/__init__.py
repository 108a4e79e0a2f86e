"""The site's HTML: one module a page, a frozen dataclass of page data each; fragments come from the same data."""
