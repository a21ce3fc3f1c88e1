"""Whose words are found, where these are neither the viewer's own nor approved by the person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaultmem.core.access import Viewer, attribution, origin
from vaultmem.core.defused import one_line
from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.memories.gathering import Door


def attributions(vault: Door, found: Iterable[Mapping[str, object]], to: Viewer) -> dict[str, str]:
    """What to say of memories with these properties, by their ids. Of most nothing is, and then nobody is asked."""
    said = {str(own["id"]): attribution(origin(own), to) for own in found if own.get("id")}
    wanted = {id_: one_line(one) for id_, one in said.items() if one}
    if not wanted:
        return {}
    approved = vault.ask("approved", ids=sorted(wanted))["approved"]
    return {id_: one for id_, one in wanted.items() if id_ not in approved}
