"""Errors: what they carry, beside their message."""

import ast
import pickle
import re

import numpy as np
import pytest
from test_house import modules

import privlp
from privlp import checks, errors

CLASSES = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
CLASSES = [error for error in CLASSES if not issubclass(error, Warning)]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_carries_its_parameter_through_a_pickle(kind):
    """Processes of a pool pickle the errors that they raise."""
    for parameter in (None, "eps"):
        again = pickle.loads(pickle.dumps(kind("eps must be positive.", parameter=parameter)))
        assert (type(again), str(again)) == (kind, "eps must be positive.")
        assert again.parameter == parameter
    assert kind("There is no file.").parameter is None


@pytest.mark.parametrize(
    "check",
    [
        lambda: checks.real("1", "eps"),
        lambda: checks.real(10**400, "eps"),
        lambda: checks.positive(-1, "eps"),
        lambda: checks.as_floats(["1"], "eps"),
        lambda: checks.as_floats([1, [2, 3]], "eps"),
        lambda: checks.as_floats(np.array([1j]), "eps"),
        lambda: checks.as_floats(np.ma.array([1.0], mask=[True]), "eps"),
        lambda: privlp.solve(privlp.examples.diet(), eps="1", delta=0.0),
        lambda: privlp.Budget(-1, 0.0),
    ],
)
def test_checks_name_the_parameter(check):
    with pytest.raises(privlp.PrivLPError, match=r"^eps ") as caught:
        check()
    assert caught.value.parameter == "eps"


def beginning(message):
    """The text that a message begins with, as far as it is known from the source."""
    while isinstance(message, ast.BinOp | ast.IfExp):
        message = message.left if isinstance(message, ast.BinOp) else message.body
    if isinstance(message, ast.JoinedStr):
        message = message.values[0]
    return message.value if isinstance(message, ast.Constant) else ""


def test_a_message_that_begins_with_a_parameter_names_it():
    """The command line shows the option of that name."""
    unnamed = [
        f"{module}, line {node.lineno}: {beginning(node.exc.args[0])}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and getattr(node.exc.func, "id", "").endswith(("ParameterError", "ProblemError"))
        and re.match("[a-z_]+ (must|is missing|has no use)", beginning(node.exc.args[0]))
        and "parameter" not in {keyword.arg for keyword in node.exc.keywords}
    ]
    assert not unnamed, "These need parameter=...:\n" + "\n".join(unnamed)
