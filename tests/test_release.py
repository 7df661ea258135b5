"""What a release says of itself in several places says the same."""

import re
import tomllib
from pathlib import Path

import pytest

import privlp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## (\d\S*)"),
        ("recipe/recipe.yaml", r"^  version: \"(\S+)\"$"),
    ],
)
def test_every_file_has_the_version_of_the_package(file, line):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.findall(line, text, re.M)[0] == privlp.__version__
    assert PROJECT["dynamic"] == ["version"]


def test_the_recipe_asks_for_what_the_package_asks_for():
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    wanted = {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    assert {line.strip(" -").replace(" ", "") for line in run.splitlines()} == wanted
    for command, function in PROJECT["scripts"].items():
        assert f"- {command} = {function}\n" in RECIPE


def test_each_dependency_has_a_reason():
    """In CONTRIBUTING.md, in the order of pyproject.toml."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Dependencies\n")[2]
    names = re.findall(r"^\| `([\w-]+)` \|", table.partition("\n## ")[0], re.M)
    assert names == [re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]]
