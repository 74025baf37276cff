"""`python -m horde_adapters` is the command `horde-front`."""

import sys

from horde_adapters.cli import main

sys.exit(main())
