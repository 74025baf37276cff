"""x"""


class DemoFailed(Exception):  # noqa: N818
    """x"""


async def show() -> None:
    """x"""
