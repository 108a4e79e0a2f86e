"""Exact details in a text: names, ids, dates, amounts, told by their form and by what stands around them."""
