"""The site's template tags and filters; every template has them, because settings list them as builtins."""
