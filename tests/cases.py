"""Tables of cases in one test: a case of its own for each line would cost more than most of them look at."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def each_case(names: str, cases: Iterable[Any], **_ids: object) -> Callable[[Any], Any]:
    """Like pytest.mark.parametrize, in one test that names the cases that fail. Its fixtures are those of one test; a
    `tmp_path` is a folder for each case."""
    listed = [one.strip() for one in names.split(",")]
    rows = [case if len(listed) > 1 else (case,) for case in cases]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            failed: dict[str, str] = {}
            folder = fixtures.get("tmp_path")
            for number, row in enumerate(rows):
                if isinstance(folder, Path):
                    fixtures["tmp_path"] = folder / f"case {number}"
                    fixtures["tmp_path"].mkdir()
                try:
                    test(**fixtures, **dict(zip(listed, row, strict=True)))
                except Exception as error:  # each is reported
                    if len(rows) == 1:
                        raise
                    failed[repr(row)[:200]] = f"{type(error).__name__}: {error}"[:2_000]
            assert not failed, "\n".join(f"{case}: {why}" for case, why in failed.items())

        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in listed]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined] # pytest reads it
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        marks = getattr(test, "pytestmark", None)
        if marks:
            run.pytestmark = marks  # type: ignore[attr-defined] # as pytest does
        return run

    return decorate
