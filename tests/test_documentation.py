"""The documentation is complete: examples, reference pages, references."""

import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest

import privlp
import svm_models
from privlp import examples, models
from privlp.methods import METHODS
from privlp.models import simulated

pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[1]
PUBLIC = {
    "privlp": sorted(set(privlp.__all__) - {"examples", "models"}),
    "svm_models": sorted(svm_models.__all__),
}


def documented():
    """What the reference pages list, by its full name."""
    found = {}
    for page in sorted((ROOT / "docs" / "reference").glob("*.*")):
        for section in page.read_text().split(".. currentmodule:: ")[1:]:
            module = section.split()[0]
            for name in re.findall(r"^   (\w+)$", section, flags=re.MULTILINE):
                found[f"{module}.{name}"] = getattr(importlib.import_module(module), name)
    return found


def code(docstrings):
    """Lines of code, which doctest runs."""
    return re.findall(r"^ *>>> (.*)", "\n".join(filter(None, docstrings)), flags=re.MULTILINE)


def members(cls):
    """Public methods and properties that are defined in these packages, each with the code that shows how to use it.

    It may be left to a parent's docstring, or to that of the class.
    """
    for name in sorted({name for base in cls.__mro__ for name in vars(base) if name[0] != "_"}):
        member = getattr(cls, name, None)
        function = member.fget if isinstance(member, property) else member
        if (
            not callable(function)
            or (getattr(function, "__module__", None) or "").split(".")[0] not in PUBLIC
        ):
            continue
        shown = code(vars(base)[name].__doc__ for base in cls.__mro__ if name in vars(base))
        shown += [
            line
            for line in code(base.__doc__ for base in cls.__mro__)
            if re.search(rf"\.{name}\b", line)
        ]
        yield name, shown


DOCUMENTED = documented()
EXAMPLES = {name: code([thing.__doc__]) for name, thing in DOCUMENTED.items()}
EXAMPLES |= {
    f"{name}.{m}": shown
    for name, cls in DOCUMENTED.items()
    if inspect.isclass(cls)
    for m, shown in members(cls)
}


def test_what_is_documented_has_an_example():
    assert {"privlp.plan", "privlp.Plan.plot", "privlp.Status.success"} <= set(EXAMPLES)
    assert {"privlp.methods.SolveRequest.density", "svm_models.LPSVC.fit"} <= set(EXAMPLES)
    assert [name for name, shown in EXAMPLES.items() if not shown] == []


def test_the_page_on_methods_says_when_to_take_each():
    page = (ROOT / "docs" / "explanation" / "methods.md").read_text(encoding="utf-8")
    for name, method in METHODS.items():
        assert f'| `"{name}"` | {method.take_it} |' in page, name


@pytest.mark.parametrize("module", [examples, models, simulated], ids=lambda m: m.__name__)
def test_reference_lists_the_functions_of_public_modules(module):
    made = {name for name, f in inspect.getmembers(module, inspect.isfunction) if name[0] != "_"}
    assert {f"{module.__name__}.{name}" for name in made} <= set(DOCUMENTED)


@pytest.mark.parametrize("package", PUBLIC)
def test_reference_lists_the_public_names(package):
    page = (ROOT / "docs" / "reference" / f"{package}.rst").read_text()
    assert sorted(re.findall(r"^   (\w+)$", page, flags=re.MULTILINE)) == PUBLIC[package]


NAME = r"(?:(?:van der|van|de) )?[A-ZÄÖÜ][\w-]+(?: Medina)?"
CITATION = re.compile(
    rf"({NAME}(?:, {NAME})*(?:,? and {NAME})?)(?: et al\.)?(?:['’]s)?,? \(?((?:19|20)\d\d)\b"
)
PATTERNS = ["*.md", "docs/*.md", "docs/guides/*.md", "docs/results/*.md", "notebooks/*.ipynb"]
PATTERNS += ["privlp/**/*.py", "svm_models/**/*.py", "benchmarks/**/*.py"]
CITING = sorted(p for one in PATTERNS for p in ROOT.glob(one) if p.name != "bibliography.md")
NO_CITATIONS = {("Cup", "1999")}  # KDD Cup 1999, a contest


def citations(text):
    """(surnames, year) of each work cited as "Author and Author (year)". Lines may be broken anywhere."""
    flat = re.sub(r"\\n\",?\s*\"|\s*\n[ #]*", " ", text)
    found = CITATION.findall(flat)
    return {(tuple(re.split(r", and |, | and ", who)), year) for who, year in found}


def bibliography():
    """The same for each entry, all authors."""
    text = (ROOT / "docs" / "bibliography.md").read_text()
    entries = re.findall(r"^- \*\*(.+?) \((\d{4})\)", text, flags=re.MULTILINE)
    return [(authors.split(", ")[::2], year) for authors, year in entries]


def test_every_work_cited_is_in_the_bibliography():
    known = bibliography()
    missing = [
        (str(path.relative_to(ROOT)), names, cited)
        for path in CITING
        for names, cited in citations(path.read_text(encoding="utf-8"))
        if (names[0], cited) not in NO_CITATIONS
        and not any(set(names) <= set(authors) and year == cited for authors, year in known)
    ]
    assert not missing


def test_citations_are_found():
    text = (
        "as in Hsu, Roth,\n    # Roughgarden and Ullman (2014), van der Reijden 2019; Muñoz Medina"
        " et al.'s (2021)"
    )
    assert citations(text) == {
        (("Hsu", "Roth", "Roughgarden", "Ullman"), "2014"),
        (("van der Reijden",), "2019"),
        (("Muñoz Medina",), "2021"),
    }


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("element", "fault"),
    [
        ('<a href="there.html#here">', None),
        ('<a href="#top">', None),
        ('<a href="https://elsewhere.org">', None),
        ('<img src="data:image/png;base64,">', None),
        ('<a href="absent.html">', "absent.html does not exist"),
        ('<img src="absent.png">', "absent.png does not exist"),
        ('<a href="there.html#absent">', "there.html#absent has no such anchor"),
        ('<a href="#absent">', "#absent has no such anchor"),
        ('<script src="https://elsewhere.org/x.js">', "loads https://elsewhere.org/x.js"),
        ('<link href="//elsewhere.org/x.css" rel="stylesheet">', "loads //elsewhere.org/x.css"),
        ("solve m.mps --eps 1: Clopper–Pearson, pages 1–3, a dash – like this", None),
        ("<p>solve m.mps –eps 1", "–eps has a dash in place of hyphens"),
    ],
)
def test_checker_of_pages(tmp_path, element, fault):
    (tmp_path / "index.html").write_text(f'<p id="top">{element}')
    (tmp_path / "there.html").write_text('<p id="here">')
    (tmp_path / "good.css").write_text("p { background: url(x.png) }")
    (tmp_path / "bad.css").write_text(
        "@import 'https://elsewhere.org/x.css'; p { src: url(//elsewhere.org/font) }"
    )
    found = list(load(ROOT / "docs" / "check_site.py").faults(tmp_path))
    bad = ["bad.css: loads https://elsewhere.org/x.css", "bad.css: loads //elsewhere.org/font"]
    assert found == ([] if fault is None else [f"index.html: {fault}"]) + bad


def test_solutions_are_folded(tmp_path):
    extension = load(ROOT / "docs" / "_ext" / "folded_notebooks.py")
    cells = [
        {"cell_type": "code", "metadata": {"tags": ["solution", "hide-cell"]}, "source": ["1"]},
        {"cell_type": "markdown", "metadata": {"tags": ["solution"]}, "source": ["Because."]},
        {"cell_type": "code", "metadata": {}, "source": ["2"]},
    ]
    source, target = tmp_path / "notebooks", tmp_path / "tutorial"
    source.mkdir()
    target.mkdir()
    (source / "01.ipynb").write_text(json.dumps({"cells": cells}))
    (target / "00-gone.ipynb").write_text("{}")
    extension.bring_notebooks(source, target)
    assert [path.name for path in target.iterdir()] == ["01.ipynb"]
    code, text, other = json.loads((target / "01.ipynb").read_text())["cells"]
    assert code["metadata"]["tags"] == ["solution", "hide-cell"]
    assert "".join(text["source"]) == ":::::{dropdown} Solution\nBecause.\n:::::"
    assert other == cells[2]


def test_each_section_of_the_proofs_has_a_page(tmp_path):
    extension = load(ROOT / "docs" / "_ext" / "proof_pages.py")
    source, folder = tmp_path / "proofs.md", tmp_path / "proofs"
    source.write_text(
        '# Proofs\nHow.\n## Laplace noise\nAs "Gauss\nnoise", [here](a.md).\n'
        "## Gauss noise\n### Claim\nTrue. ∎\n### Where in the code\nHere.\n# Others\nWhat.\n## Rows\nNone.\n"
    )
    folder.mkdir()
    (folder / "gone.md").write_text("old")
    package = tmp_path / "code"
    package.mkdir()
    (package / "noise.py").write_text('"""See ``docs/proofs.md``,\n"Gauss noise", "Rows"."""')
    extension.write_pages(source, folder, (package,))
    pages = {path.name: path.read_text() for path in folder.iterdir()}
    assert sorted(pages) == ["gauss-noise.md", "laplace-noise.md", "rows.md"]
    assert pages["laplace-noise.md"] == (
        "# Laplace noise\nAs [Gauss\nnoise](gauss-noise.md), [here](../a.md).\n"
    )
    assert pages["rows.md"] == (
        "# Rows\nNone.\n\n## Where in the code\n\nNamed in `code/noise.py`.\n"
    )
    named = "## Where in the code\nHere.\n\nNamed in `code/noise.py`.\n"
    assert pages["gauss-noise.md"] == f"# Gauss noise\n## Claim\nTrue. ∎\n{named}"
    page = extension.contents(source.read_text())
    assert page.index("# Proofs\nHow.") < page.index("proofs/gauss-noise\n```")
    assert page.index("## Others\nWhat.") < page.index("proofs/rows\n```")
    assert page.count("```") == 4


def test_formulas_get_scripts():
    pytest.importorskip("sphinx")
    marks = {"subscript": "[{}]", "superscript": "{{{}}}"}

    def shown(nodes):
        return "".join(
            str(node) if node.tagname == "#text" else marks[node.tagname].format(shown(node))
            for node in nodes
        )

    typeset = load(ROOT / "docs" / "_ext" / "formulas.py").typeset
    for text, expected in (
        ("A'_ij x_j <= h_s", "A′[ij] x[j] <= h[s]"),
        ("e^{−(x_j − ⌊x_j⌋)}, Σ_t 1/σ_t² of w_tj³", "e{−(x[j] − ⌊x[j]⌋)}, Σ[t] 1/σ[t]² of w[tj]³"),
        ("||x||_2^2, n^(-1/3), v^j_(s+1), 2^53", "||x||[2]{2}, n{-1/3}, v{j}[(s+1)], 2{53}"),
        ("scale_i(A'_ij − mid_i), w_plus, xx^T", "scale[i](A′[ij] − mid[i]), w[plus], xx{T}"),
        ("rows_per_record, coef_, return_X_y", "rows_per_record, coef_, return_X_y"),
    ):
        assert shown(typeset(text)) == expected


def test_formulas_become_mathml_that_is_broken_at_relations_and_between_terms():
    pytest.importorskip("sphinx")
    extension = load(ROOT / "docs" / "_ext" / "mathml.py")
    assert extension.latex("ε_i ≤ Δ/(2λ)") == r"ε_i \le  Δ/(2λ)"  # Unicode signs
    signs = r"\tfrac{1}{2} \sum _j \Vert {\hat{h}{}}\Vert "
    assert extension.latex("½ Σ_j ‖ĥ‖") == signs
    for formula, pieces, block in (
        ("a_1 + b_1 + c_1 ≤ max(d, e) = f", ["a1+b1+c1", "≤max(d,e)", "=f"], False),
        ("f(a + b + c + d + e + g + h)", ["f(a+b+c+d+e+g+h)"], False),
        ("x_1 + x_2 + x_3 + x_4 + x_5 − y", ["x1+x2+x3+x4+x5", "−y"], False),
        (r"a_1 + b_1 = c_1 \quad d", ["a1+b1=c1", "d"], True),
    ):
        found = extension.pieces(extension.mathml(formula, block=block))
        assert ["".join("".join(one.itertext()).split()) for one in found] == pieces
        assert not block or {one.get("displaystyle") for one in found} == {"true"}
    tags = [node.tag.split("}")[1] for node in extension.mathml(r"r \ln(1 + x)", block=False)]
    assert tags[:4] == ["mi", "mspace", "mi", "mo"]  # functions stand apart
    (slash,) = [n for n in extension.mathml("a/b", block=False) if n.text == "/"]
    assert slash.get("lspace") == slash.get("rspace") == "0"
