"""What a fitted estimator says of itself, beside its parameters."""

from __future__ import annotations

from typing import Any


def marked(estimator: Any, text: str) -> str:
    """The text of an estimator, and whether what it learned is not for release.

    Examples
    --------
    >>> from svm_models import OutputPerturbationSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(300, random_state=0)
    >>> OutputPerturbationSVC(classes=(-1, 1), random_state=0).fit(X, y)
    OutputPerturbationSVC(classes=(-1, 1), random_state=0)
    NOT FOR RELEASE: the noise came from a seeded generator.
    """
    record = getattr(estimator, "privacy_", None)
    if record is None or record.remark is None:
        return text
    return f"{text}\n{record.remark}"
