"""``python -m svm_models``: the command line."""

from svm_models.cli import main

if __name__ == "__main__":
    main(prog_name="python -m svm_models")
