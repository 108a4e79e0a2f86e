"""Exact details in a text: names, ids, dates and amounts, recognised by their form and by the words around them."""
