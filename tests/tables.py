"""A table of cases is one test: thousands of cases of a millisecond cost more to report than to run."""

import functools
import inspect
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

Test = Callable[..., None]
Row = dict[str, object]

_PARAM = type(pytest.param())
ANY_FAILURE = "VAULTMEM_ANY_FAILURE" in os.environ  # to learn only whether something fails


def each_case(names: str, rows: Iterable[Any], **given: Any) -> Callable[[Test], Test]:
    """Like pytest.mark.parametrize, for rows that share the fixtures of one test; only `tmp_path` is new for each."""

    def decorate(test: Test) -> Test:
        test.shares_fixtures = True  # type: ignore[attr-defined]
        return pytest.mark.parametrize(names, [*rows], **given)(test)

    return decorate


class Module(pytest.Module):
    """The tests of a file; those that need nothing new for each row run their whole table."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Every item of the file."""
        _fold(self.obj)
        return super().collect()


def _fold(place: Any) -> None:
    for name, found in [*vars(place).items()]:
        if name.startswith("Test") and inspect.isclass(found):
            _fold(found)
        elif name.startswith("test") and inspect.isfunction(found) and _is_table(found):
            setattr(place, name, _folded(found))


def _tables(test: Test) -> list[pytest.Mark]:
    return [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]


def _is_table(test: Test) -> bool:
    """Whether each call gets a row, and nothing that must be new each time."""
    tables = _tables(test)
    if hasattr(test, "shares_fixtures"):
        return True
    if not tables or hasattr(test, "hypothesis") or not all(map(_is_plain, tables)):
        return False
    named = {name for table in tables for name in _names(table)}
    return not {*inspect.signature(test).parameters} - named - {"self"}


def _is_plain(table: pytest.Mark) -> bool:
    rows = table.args[1]
    is_used_up = isinstance(rows, Iterator)
    return not (
        is_used_up
        or "indirect" in table.kwargs
        or any(isinstance(row, _PARAM) and row.marks for row in rows)
    )


def _names(table: pytest.Mark) -> list[str]:
    names = table.args[0]
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]


def _rows(table: pytest.Mark) -> list[Row]:
    names = _names(table)
    is_bare = isinstance(table.args[0], str) and len(names) == 1
    found = []
    for row in table.args[1]:
        bare = (row,) if is_bare else row
        values = row.values if isinstance(row, _PARAM) else bare
        found.append(dict(zip(names, values, strict=True)))
    return found


def _folded(test: Test) -> Test:
    tables = [_rows(table) for table in _tables(test)]
    named = {name for table in _tables(test) for name in _names(table)}

    @functools.wraps(test)
    def whole(*itself: object, **fixtures: object) -> None:
        failed = []
        folder = fixtures.get("tmp_path")
        for number, parts in enumerate(itertools.product(*tables)):
            row: Row = functools.reduce(lambda one, other: one | other, parts)
            if isinstance(folder, Path):
                fixtures["tmp_path"] = own = folder / f"row {number}"
                own.mkdir()
            try:
                test(*itself, **fixtures, **row)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - shown below
                error.add_note(f"in the row {row!r:.500}")
                failed.append(error)
                if ANY_FAILURE:
                    break
        if failed:
            said = f"{len(failed)} rows fail; with --rows each is a test of its own"
            raise BaseExceptionGroup(said, failed)

    others = [one for name, one in inspect.signature(test).parameters.items() if name not in named]
    whole.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    whole.pytestmark = [one for one in test.pytestmark if one.name != "parametrize"]  # type: ignore[attr-defined]
    return whole


class Table(pytest.Item):
    """One test for all rows that a function has left: each gets its own fixtures, by pytest's own protocol."""

    def __init__(self, rows: list[pytest.Item], **given: Any) -> None:
        super().__init__(**given)
        self.rows = rows

    def reportinfo(self) -> Any:
        """The location of the function."""
        return self.rows[0].reportinfo()

    def runtest(self) -> None:
        """Not called: `run` runs each row separately."""
        raise AssertionError(self.nodeid)


def joined(items: list[pytest.Item]) -> list[pytest.Item]:
    """The items, with one table for the rows of a function if these are adjacent."""
    groups = [[*rows] for _, rows in itertools.groupby(items, _function)]
    times = Counter(_function(rows[0]) for rows in groups)
    found: list[pytest.Item] = []
    for rows in groups:
        first = rows[0]
        if len(rows) == 1 or times[_function(first)] > 1:
            found += rows
        else:
            name = getattr(first, "originalname", first.name)
            found.append(Table.from_parent(first.parent, name=name, rows=rows))
    return found


def _function(item: pytest.Item) -> tuple[object, str]:
    has_rows = hasattr(item, "callspec")
    return item.parent, getattr(item, "originalname", "") if has_rows else item.nodeid


def run(table: Table, following: pytest.Item | None) -> None:
    """Run each row. A failed or skipped row is reported separately; all others together are one passing test."""
    hook = table.ihook
    hook.pytest_runtest_logstart(nodeid=table.nodeid, location=table.location)
    passed: dict[str, pytest.TestReport] = {}
    has_failed = False
    for row, after in itertools.zip_longest(table.rows, table.rows[1:], fillvalue=following):
        assert row is not None
        reports = runtestprotocol(row, log=False, nextitem=after)
        has_failed |= any(report.failed for report in reports)
        is_odd = any(not report.passed for report in reports)
        for report in reports:
            report.nodeid = table.nodeid  # the title of a failure names the row
            if is_odd:
                hook.pytest_runtest_logreport(report=report)
            elif known := passed.get(report.when):
                known.duration += report.duration
            else:
                passed[report.when] = report
        if table.session.shouldfail or table.session.shouldstop:
            break
    for report in passed.values() if not has_failed else ():
        report.location = table.location
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=table.nodeid, location=table.location)
