"""A file of records that only grows: SQLite, each record bound to the one before it by a hash.

Contract
--------
* A record counts from the moment :meth:`RecordFile.writing` ends without an error. Then it is on
  the disk, so that a crash or a power cut does not undo it. Before that moment there is no trace of
  it.
* One process writes at a time; the others wait. Who writes has read all that was written before.
* A file that is not as it was left is refused: damaged, cut short, edited, copied, or of a newer
  format.

Why it is done this way
-----------------------
* A rollback journal, no write-ahead log: what was committed stands in one file, which may be moved.
  ``synchronous=EXTRA``, because with ``FULL`` a power cut may bring back the deleted journal, which
  would undo the last record.
* A connection for each access: none is open while a process forks, and no lock outlives an access.
* No thread forks during an access (:mod:`privlp.privacy.randomness`).
* After each commit a second file beside it, with ``.count`` after its name, gets the number and the
  hash of the last record. A file that does not hold that record is older. The second file is no
  part of the first: without it nothing is refused.
* The file is opened by SQLite alone. Under POSIX, closing any other handle would drop all of
  SQLite's locks on it in this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from privlp.errors import BudgetFileError
from privlp.privacy.randomness import unforked
from privlp.privacy.record import versions

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True)
class FileLocation:
    """Device, inode and path of a file. A copy has another location.

    Two files that exist at the same time on one device never share an inode. An inode that was
    given up may be given again, so that a copy that takes the path of a deleted file may pass. A
    restart may number devices anew, so that path and inode together are enough. A file that was
    renamed keeps device and inode.
    """

    device: int
    inode: int
    path: str

    @classmethod
    def of(cls, path: Path) -> FileLocation:
        """The location of an existing file."""
        found = os.stat(path)
        return cls(found.st_dev, found.st_ino, str(path))

    def holds(self, other: FileLocation) -> bool:
        """Whether the file that was here may be the one that is there now."""
        same = self.device == other.device or self.path == other.path
        return self.inode == other.inode and same


PATIENCE = 60.0  #: Seconds to wait for another process.
SYNCHRONOUS = "EXTRA"  #: How a commit reaches the disk; see above.
FORMAT = 1  #: The format that this version writes, and the newest that it reads.
#: SQLite's mark for what a file is for: "prlp".
_APPLICATION = 0x70726C70
_FIRST_HASH = "0" * 64
#: How far a file was read: the number of its last record, and that record's hash.
Last: TypeAlias = tuple[int, str]
START: Last = (0, _FIRST_HASH)
_SCHEMA = (
    "CREATE TABLE record (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL)",
    "INSERT INTO head VALUES (0, '')",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)
NOT_CHARGED = "Nothing was drawn and nothing was charged."
_REASONS = {
    "SQLITE_NOTADB": "is no SQLite file, so no budget; or its beginning is damaged.",
    "SQLITE_BUSY": (
        f"is in use by another process, which did not finish in time. Try again. {NOT_CHARGED}"
    ),
    "SQLITE_FULL": f"cannot grow: the disk is full. Free some space. {NOT_CHARGED}",
    "SQLITE_READONLY": (
        f"cannot be written: it, or its folder, is read-only. Change the permissions. {NOT_CHARGED}"
    ),
    "SQLITE_CANTOPEN": (
        "cannot be opened: it, or its folder, is not accessible. Change the permissions."
        f" {NOT_CHARGED}"
    ),
}


class RecordFile:
    """See the module's docstring. `path` need not exist yet; symbolic links are followed once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))
        self._name = repr(os.fspath(path))
        self._location: FileLocation | None = None
        self._counter = self.path.with_name(f"{self.path.name}.count")
        self._appended: Last | None = None

    def create(self, body: dict[str, Any]) -> None:
        """Make the file, with a first record, unless another process makes it now."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._counter.unlink(missing_ok=True)  # of a file that was deleted
        except FileExistsError:
            return
        except OSError as error:
            self.refuse(f"cannot be made: {error.strerror}. {NOT_CHARGED}")
        with unforked(), self._explained(), closing(self._connection()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            self.append(connection, START, {**body, "place": asdict(FileLocation.of(self.path))})
            connection.execute("COMMIT")
            self._count()
        _sync_folder(self.path.parent)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A view of the file that does not change."""
        with unforked(), self._explained(), closing(self._opened()) as connection:
            connection.execute("BEGIN")
            self._require_ours(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """What is appended within is on the disk when it ends; after an error, none of it is."""
        with unforked(), self._explained(), closing(self._opened()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._require_ours(connection)
            self._appended = None
            try:
                yield connection
                connection.execute("COMMIT")
                self._count()
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def read(
        self, connection: sqlite3.Connection, last: Last, *, older: bool = False
    ) -> tuple[list[dict[str, Any]], Last]:
        """The records after `last`, checked to follow it and, unless `older`, the count beside."""
        number, known = last
        if number and connection.execute(
            "SELECT hash FROM record WHERE number = ?", (number,)
        ).fetchone() != (known,):
            self.refuse(
                "no longer holds what was read from it before: an older file was put in its place,"
                f" or it was edited. {NOT_CHARGED} Bring back the newest file."
            )
        found = []
        rows = connection.execute(
            "SELECT number, body, hash FROM record WHERE number > ? ORDER BY number", (number,)
        )
        for at, body, digest in rows:
            number += 1
            if at != number or digest != _chained(known, body):
                self.refuse_as_damaged(f"record {number} is missing or was changed")
            known = digest
            try:
                found.append(json.loads(body))
            except ValueError:
                self.refuse_as_damaged(f"record {number} is no JSON")
        if connection.execute("SELECT number, hash FROM head").fetchall() != [(number, known)]:
            self.refuse_as_damaged("its last records are missing")
        if not older and not self.holds_what_was_counted(connection):
            self.refuse(
                f"is older than {self._counter.name!r} beside it says: it was restored"
                f" from an older copy, or edited. {NOT_CHARGED} Bring back the newest file. If"
                " it is lost, what was released since is not in this one: treat the budget as"
                " spent. If nothing was, open this one by Budget.open(path, adopt=True) or `privlp"
                " budget FILE --adopt`."
            )
        return found, (number, known)

    def append(
        self, connection: sqlite3.Connection, last: Last, body: dict[str, Any]
    ) -> tuple[dict[str, Any], Last]:
        """Write a record, dated, after the last one of the file, within :meth:`writing`."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        body = {"time": now, "version": versions()["privlp"], **body}
        number, known = last
        text = json.dumps(body, allow_nan=False)
        new = number + 1, _chained(known, text)
        connection.execute("INSERT INTO record VALUES (?, ?, ?)", (number + 1, text, new[1]))
        connection.execute("UPDATE head SET number = ?, hash = ?", new)
        self._appended = new
        return body, new

    def holds_what_was_counted(self, connection: sqlite3.Connection) -> bool:
        """Whether the file has the record that was its last when it was counted."""
        try:
            number, known = self._counter.read_text(encoding="ascii").split()
            found = connection.execute("SELECT hash FROM record WHERE number = ?", (int(number),))
        except (OSError, ValueError, OverflowError):  # it was removed, or cut short by a power cut
            return True
        return bool(found.fetchone() == (known,))

    def _count(self) -> None:
        """Note beside the file what was its last record just now."""
        if self._appended is None:
            return
        new = self._counter.with_name(f"{self._counter.name}.{secrets.token_hex(4)}")
        try:
            new.write_text("{} {}\n".format(*self._appended), encoding="ascii")
            new.chmod(stat.S_IMODE(os.stat(self.path).st_mode))
            os.replace(new, self._counter)
        except OSError as error:
            raise BudgetFileError(
                f"{self._counter.name!r} beside {self._name} cannot be written: {error.strerror}."
                " Nothing was drawn, but the charge is in the file. Change the permissions."
            ) from None

    def require_location(self, recorded: FileLocation) -> None:
        """Refuse a file that was copied from where its records say that it lies."""
        here = FileLocation.of(self.path)
        if not recorded.holds(here):
            self.refuse(
                "is a copy, or was moved from another disk or restored from a backup:"
                f" it was made at {recorded.path!r}. {NOT_CHARGED} Two copies would spend the"
                " budget twice. Use the original; or, if nobody will ever use another copy and"
                " nothing was charged to one since, open this one by Budget.open(path, adopt=True)"
                " or `privlp budget FILE --adopt`."
            )
        self._location = here

    def check_pages(self, connection: sqlite3.Connection) -> None:
        """Refuse a file that SQLite finds damaged."""
        if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
            self.refuse_as_damaged("SQLite's own check fails")

    def refuse(self, reason: str) -> NoReturn:
        """Raise, with the reason; what SQLite or the system said is not shown besides."""
        raise BudgetFileError(f"{self._name} {reason}") from None

    def refuse_as_damaged(self, reason: str) -> NoReturn:
        self.refuse(
            f"is damaged: {reason}. {NOT_CHARGED} What it had paid for cannot be known from it."
            " Bring back a backup that is known to be newer than the last release, or treat the"
            " budget as spent."
        )

    def _refuse_as_empty(self) -> NoReturn:
        self.refuse(
            f"is empty: it was cut short, or whoever made it was stopped. {NOT_CHARGED} Delete it"
            " only if nothing was ever charged to it."
        )

    def _opened(self) -> sqlite3.Connection:
        """A connection to an existing file; refused where the file itself shows a fault."""
        try:
            found = os.stat(self.path)
            deadline = time.monotonic() + min(5.0, PATIENCE)
            while (
                stat.S_ISREG(found.st_mode) and found.st_size == 0 and time.monotonic() < deadline
            ):
                time.sleep(0.02)  # somebody may be making it at this moment
                found = os.stat(self.path)
        except OSError as error:
            self.refuse(f"cannot be opened: {error.strerror}. {NOT_CHARGED}")
        if not stat.S_ISREG(found.st_mode):
            self.refuse("is no file.")
        if found.st_size == 0:
            self._refuse_as_empty()
        if found.st_nlink > 1:
            self.refuse(
                f"has {found.st_nlink} names (hard links). After a crash SQLite would look for its"
                f" journal under one of them only. {NOT_CHARGED} Delete the other names."
            )
        known = self._location
        if known is not None and (known.device, known.inode) != (found.st_dev, found.st_ino):
            self.refuse(
                f"was replaced by another file while it was in use. {NOT_CHARGED} Bring back the"
                " newest file, and open it again."
            )
        return self._connection()

    def _connection(self) -> sqlite3.Connection:
        connection = _sqlite3().connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
        )
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: past the cache of the drive
        return connection

    def _require_ours(self, connection: sqlite3.Connection) -> None:
        application, written = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if application == written == 0 and os.stat(self.path).st_size == 0:
            self._refuse_as_empty()  # a journal was played back just now
        if application != _APPLICATION or written < 1:
            self.refuse("is an SQLite file of something else, not a budget.")
        if written > FORMAT:
            self.refuse(
                f"was written by a newer version of privlp: format {written}, of which this version"
                f" knows {FORMAT}. {NOT_CHARGED} Update privlp."
            )
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
            self.refuse(
                f"is in another journal mode: somebody changed it. {NOT_CHARGED} Change it back, by"
                " `PRAGMA journal_mode = DELETE` in SQLite."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors in words."""
        try:
            yield
        except _sqlite3().Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith("SQLITE_IOERR"):  # only then, a commit may have happened
                self.refuse(
                    f"failed to be read or written ({error}). Nothing was drawn. `privlp budget`"
                    " shows whether the charge is in the file. Check the disk."
                )
            for beginning, reason in _REASONS.items():
                if code.startswith(beginning):
                    self.refuse(reason)
            self.refuse_as_damaged(f"SQLite says {error}")
        except UnicodeDecodeError:
            self.refuse_as_damaged("it holds bytes that are no text")


def _sqlite3() -> ModuleType:
    import sqlite3  # noqa: PLC0415 (few programs keep a budget in a file)

    return sqlite3


def _chained(known: str, body: str) -> str:
    return hashlib.sha256(f"{known}\n{body}".encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where the system can."""
    with suppress(OSError):  # Windows opens no folders, and writes names at once
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)  # some network folders refuse
        finally:
            os.close(handle)
