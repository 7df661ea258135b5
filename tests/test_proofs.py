"""Every mechanism, method and private estimator names the section of the proofs that it rests on, and the section is there."""

import inspect
import math
import re
import sys
from pathlib import Path

import privlp
import svm_models
from privlp.methods.perturbed import method as perturbed
from privlp.methods.staged import charges as staged_charges
from privlp.privacy.mechanisms import Mechanism
from tests.programs import ALL

ROOT = Path(__file__).parents[1]
PROOFS = (ROOT / "docs" / "proofs.md").read_text()
SECTIONS = set(re.findall(r"^## (.+)$", PROOFS, flags=re.MULTILINE))
SOURCES = sorted(path for of in ("privlp", "svm_models") for path in (ROOT / of).rglob("*.py"))


def sections_named(text):
    """Section titles that follow a mention of the proofs; titles may be broken over lines."""
    flat = re.sub(r"\s+", " ", text or "")
    mentions = re.findall(r"docs/proofs\.md``,((?: ?\"[^\"]+\",?)+)", flat)
    return [title for mention in mentions for title in re.findall('"([^"]+)"', mention)]


def subclasses(kind):
    for child in kind.__subclasses__():
        yield from (child, *subclasses(child))


MECHANISMS = [
    m
    for m in subclasses(Mechanism)
    if m.__module__.startswith("privlp") and not inspect.isabstract(m)
]


def test_named_sections_exist():
    named = {(path.name, title) for path in SOURCES for title in sections_named(path.read_text())}
    assert {(path, title) for path, title in named if title not in SECTIONS} == set()


def test_methods_name_their_proof():
    """In their own docstring or that of the function of their module that they specialise."""
    for name, method in ALL.items():
        module = sys.modules[getattr(method, "__module__", None) or method.func.__module__]
        assert sections_named(inspect.getsource(module)), name
        assert method.__doc__, name


ESTIMATORS = "OutputPerturbationSVC OutputPerturbationLogisticRegression ObjectivePerturbationSVC"
ESTIMATORS += " ObjectivePerturbationLogisticRegression DMWSVC PrivateLPSVC PrivateModelSelector"
ESTIMATORS += " PrivateOneVsRestClassifier PrivateClassifier"


def test_mechanisms_reports_and_estimators_name_their_proof():
    for mechanism in MECHANISMS:
        assert sections_named(mechanism.__doc__), mechanism
        assert re.search("sensitivity", mechanism.__doc__), mechanism
    assert sections_named(privlp.quality.__doc__)
    for name in ESTIMATORS.split():
        estimator = getattr(svm_models, name)
        module = sys.modules[estimator.__module__]
        assert sections_named((estimator.__doc__ or "") + (module.__doc__ or "")), name


PARTS = ["Claim", "Assumptions", "Proof", "Where in the code"]


def test_each_proof_has_the_same_parts():
    """In this order; others may stand between them."""
    found = re.split(r"^## (.+)\n", PROOFS, flags=re.MULTILINE)[1:]
    sections = dict(zip(found[::2], found[1::2], strict=True))
    exempt = sections.pop("Not private, and said so")
    assert "### Proof" not in exempt
    for title, part in sections.items():
        text = re.split(r"^# ", part, flags=re.MULTILINE)[0]
        parts = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
        assert [name for name in parts if name in PARTS] == PARTS, title
        assert "∎" in text, title
        assert parts[-1] == "Where in the code", title


def test_files_that_a_proof_names_exist():
    """The first name of a folder is written in full; others beside it by their last part."""
    names = set(re.findall(r"`((?:privlp|svm_models|tests)/[\w/]+\.py)`", PROOFS))
    assert len(names) > 50
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []
    short = set(re.findall(r"`(?:\w+/)?(\w+\.py)`", PROOFS))
    existing = {path.name for path in SOURCES} | {path.name for path in ROOT.glob("tests/*.py")}
    assert sorted(short - existing) == []


def test_the_constants_of_the_search_stand_in_the_proofs():
    text = re.sub(r"\s+", " ", PROOFS)
    assert f'$s = d σ/{perturbed._DIFFICULT}$ (`"perturbed"`)' in text
    assert f'$d σ/{staged_charges._DIFFICULT}$ (`"staged"`)' in text


def test_how_low_no_private_solver_goes():
    """The probability that the proof states for eps <= 1."""
    for eps in (1e-3, 0.1, 0.3, 0.5, 0.51, 0.99, 1.0):
        assert 1 / (1 + math.exp(math.ceil(1 / eps) * eps)) > 0.11


def test_privacy_is_computational_everywhere():
    for page in ("proofs.md", "attack-model.md", "results/claims.md"):
        text = (ROOT / "docs" / page).read_text()
        assert "computational" in text, page
        assert "What every claim assumes" in text, page
        assert "unlimited time" not in text, page
