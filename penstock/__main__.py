"""``python -m penstock`` is the command ``penstock``."""

import sys

from penstock.command_line import main

sys.exit(main())
