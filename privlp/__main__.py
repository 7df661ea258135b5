"""``python -m privlp``: the command line."""

from privlp.cli import main

if __name__ == "__main__":
    main(prog_name="python -m privlp")
