"""File formats, under the names and at the place PyFlink gives them."""
