"""The operators of one record at a time, keyed and not, with one input or two."""
