"""Benchmarks, each a program: ``python -m benchmarks.NAME``. It compares within one run."""

import sys

#: Programs with options, and so with a help, of their own.
_WITH_OPTIONS = {"benchmarks.blocks", "benchmarks.speed"}

# While Python looks for the program that follows -m, the first argument is -m itself.
_asked = sys.argv[:1] == ["-m"] and {"-h", "--help"} & set(sys.argv[1:])
if _asked and not _WITH_OPTIONS & set(sys.orig_argv):
    print("It takes no options: it measures, and writes its page of docs/results if it has one.")
    sys.exit()
