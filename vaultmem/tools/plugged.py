"""Tools of third parties: whatever an entry point of the group "vaultmem.tools" leads to.

That is a Tool, several of them, or a function that is given the toolbox, to which it adds tools and hooks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools.tool import Tool

if TYPE_CHECKING:
    from vaultmem.tools.toolbox import Toolbox

GROUP = "vaultmem.tools"


def plug_in(toolbox: Toolbox) -> None:
    """Add what is installed. What cannot be loaded is named on stderr, and left out."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            _plug(toolbox, point)
        except Exception as error:  # noqa: BLE001 - the border to code of third parties
            said = " ".join(str(error).split()) or type(error).__name__
            sys.stderr.write(
                f"vaultmem: the tool {point.name} ({point.value}) is left out: {said}\n"
            )


def _plug(toolbox: Toolbox, point: EntryPoint) -> None:
    found: object = point.load()
    if isinstance(found, Tool):
        toolbox.add(found)
    elif callable(found):
        found(toolbox)
    elif isinstance(found, Iterable) and not isinstance(found, (str, bytes)):
        for tool in found:
            if not isinstance(tool, Tool):
                raise TypeError(f"{type(tool).__name__} is no Tool")
            toolbox.add(tool)
    else:
        raise TypeError(f"{type(found).__name__} is no Tool")
