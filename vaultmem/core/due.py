"""One thing in the vault that wants attention at a time, wherever it is written: a task, a property, a sentence, a
reminder. Times are those of the clock on the wall, as notes have them: an ISO day, or day and minute."""

from __future__ import annotations

from typing import NamedTuple

TASK, NOTE, SAID, REMINDER = "task", "note", "said", "reminder"  # kinds of what is due


class Due(NamedTuple):
    """One thing that is due; of what repeats by itself, the occurrence that counts now."""

    id: str  # vm-…, see core.pending_page.item_ids; the same on every machine
    kind: str  # TASK: a task of a note; NOTE: a note with a date; SAID: a line; REMINDER: a memory
    text: str  # as it stands in the note
    due: str  # by when: what sorts it under overdue, today and soon; "" for what only starts
    at: str  # when to remind; "" for never
    path: str
    line: int  # 0 for a property of the note
    title: str  # of the note, as a link names it
    repeat: str = ""  # in words
    rolls: bool = False  # comes round by itself; a task does so when its editor completes it
    lapses: bool = False  # is over with its day, done or not: a date of a note is no work
    foreign: bool = False  # from outside; not to be believed before a person has approved it
    memory: str = ""  # the id of the memory, of a REMINDER
    own_id: str = ""  # by which its editor knows the task, if it does
    scope: str = "global"  # who sees it
    private: bool = False  # the person keeps its words from assistants
    author: str = ""  # the assistant that wrote it; "" for the person
    series: str = ""  # under which id the end of what rolls is kept, vm-…
