"""Mirror descents in a row, each from the point that the one before released."""

from privlp.methods.staged.method import Staged as Staged
