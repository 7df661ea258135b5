"""Where a file lies: what tells it from a copy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


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
        return self.inode == other.inode and (
            self.device == other.device or self.path == other.path
        )
