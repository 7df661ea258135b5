"""Models of linopy as arrays, and values written into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.readers.modellers import Ints, Modeller


class Linopy(Modeller):
    """A ``linopy.Model``, in the units of its user; solvers may get it scaled."""

    says = "linopy model"
    relax = "declare it without integer, binary and semi_continuous, or call its relax()"

    def names(self) -> list[str]:
        every = self.model.variables.items()
        return [name for of, each in every for name in _linopy_names(of, each.labels)]

    def read(self) -> dict[str, Any]:
        model, names, place = self.model, self.names(), self._columns()
        if len(getattr(model.variables, "sos", ())) or any(
            getattr(each, "is_indicator", False) for _, each in model.constraints.items()
        ):
            raise self.refusal("has SOS or indicator constraints; privlp solves linear programs.")
        kinds = ("integer", "binary", "semi_continuous")
        apart = (n for n, v in model.variables.items() if any(map(v.attrs.get, kinds)))
        columns = place[np.ravel(model.objective.vars.values)]
        curved = model.objective.is_quadratic
        self.check(names, apart, (columns >= 0).any(), curved=curved)
        weights = np.ravel(model.objective.coeffs.values)[columns >= 0]
        empty, none = np.zeros(0), np.zeros(0, dtype=int)
        blocks, row_names, n = [[empty, none, none, empty, empty.astype("U1")]], list[str](), 0
        for name, each in model.constraints.items():
            blocks.append(self._rows(each, place, n))
            own = _linopy_names(name, each.labels)
            row_names += own
            labels = np.ravel(each.labels.values)
            self.place |= zip(labels[labels >= 0].tolist(), range(n, n + len(own)), strict=True)
            n += len(own)
        data, i, j, side, sign = map(np.concatenate, zip(*blocks, strict=True))
        ends = [
            np.broadcast_to(end.values, each.labels.shape)[each.labels.values >= 0]
            for _, each in model.variables.items()
            for end in (each.lower, each.upper)
        ]
        return {
            "c": np.bincount(columns[columns >= 0], weights, len(names)),
            "A": sp.coo_array((data, (i, j)), shape=(n, len(names))),
            "row_lower": np.where(sign == "<", -np.inf, side),
            "b": np.where(sign == ">", np.inf, side),
            "bounds": np.column_stack([np.concatenate(ends[k::2]) for k in (0, 1)]),
            "sense": model.objective.sense,
            "offset": float(np.sum(getattr(model.objective.expression, "const", 0.0))),
            "variable_names": names,
            "row_names": row_names,
        }

    def _columns(self) -> Ints:
        """The column of each label of a variable; the last stands for none, label -1."""
        labels = [np.ravel(each.labels.values) for _, each in self.model.variables.items()]
        every = np.concatenate([*labels, np.zeros(0, int)])
        place = np.full(every.max(initial=-1) + 2, -1)
        place[every[every >= 0]] = np.arange((every >= 0).sum())
        return place

    @staticmethod
    def _rows(constraint: Any, place: Ints, first: int) -> list[Any]:
        """Entries, their rows and columns; sides and signs of the rows of a constraint."""
        labels = constraint.labels
        kept = np.ravel(labels.values) >= 0
        term = [dim for dim in constraint.vars.dims if dim not in labels.dims]
        variables, entries = (
            part.transpose(*labels.dims, *term).values.reshape(kept.size, -1)[kept]
            for part in (constraint.vars, constraint.coeffs)
        )
        side, sign = (
            np.ravel(part.transpose(*labels.dims).values)[kept]
            for part in (constraint.rhs, constraint.sign)
        )
        i, k = np.nonzero(variables >= 0)
        return [entries[i, k], i + first, place[variables[i, k]], side, sign.astype("U1")]

    def rows_of(self, constraint: Any) -> list[int] | None:
        if getattr(constraint, "model", None) is not self.model or not hasattr(constraint, "rhs"):
            return None  # variables have labels too
        several = constraint.items() if hasattr(constraint, "items") else [("", constraint)]
        labels = [label for _, each in several for label in np.ravel(each.labels).tolist()]
        return [self.place[label] for label in labels if label in self.place]

    def slacks(self) -> Iterator[tuple[Ints, Ints]]:
        place = self._columns()
        for _, each in self.model.constraints.items():
            labels = np.ravel(each.labels.values)
            own = [one for one in getattr(each, "slack", None) or () if one is not None]
            if own:
                columns = np.column_stack([place[np.ravel(one.labels.values)] for one in own])
                yield np.array(self.rows_of(each)), columns[labels >= 0]

    def write(self, values: Mapping[str, float]) -> None:
        import xarray  # noqa: PLC0415

        found = np.append([values.get(name, np.nan) for name in self.names()], np.nan)
        place = self._columns()
        for _, variable in self.model.variables.items():
            own = variable.labels
            variable.solution = xarray.DataArray(found[place[own.values]], own.coords, own.dims)

    def solved(self, objective: float | None, *, optimal: bool) -> None:
        self.model.objective.set_value(np.nan if objective is None else objective)
        self.model.status = "ok"  # without it the model shows no values
        self.model.termination_condition = "optimal" if optimal else "suboptimal"


def _linopy_names(name: str, labels: Any) -> list[str]:
    """Names as linopy prints them, such as ``x[oats]``, of what is not masked."""
    if not labels.dims:
        return [name] if labels >= 0 else []
    indexes = [labels.indexes.get(dim, range(labels.sizes[dim])) for dim in labels.dims]
    keys = product(*([_linopy_key(key) for key in index] for index in indexes))
    kept = np.ravel(labels.values) >= 0
    return [f"{name}[{', '.join(key)}]" for key, one in zip(keys, kept, strict=True) if one]


def _linopy_key(key: Any) -> str:
    return f"({', '.join(map(str, key))})" if isinstance(key, tuple) else str(key)
