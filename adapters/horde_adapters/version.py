"""The front's own version, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("horde-oai-front")
except PackageNotFoundError:  # run from a checkout that isn't installed
    VERSION = "0"
