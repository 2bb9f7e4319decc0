"""Writers of whole files, by format."""
