"""The front's own version; the distribution takes it from here.

Asking the installed metadata for it would take a tenth of the start-up's imports.
"""

VERSION = "0.1.0"
