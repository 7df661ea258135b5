"""Calls as plain data, as a file keeps them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from privlp.errors import InvalidParameterError
from privlp.privacy.charges import Call, Charge, Share
from privlp.privacy.prices import Price
from privlp.privacy.record import LedgerEntry, json_number
from privlp.privacy.relation import RecordedRelation


def call_to_dict(call: Call) -> dict[str, Any]:
    """Plain data that JSON keeps exactly: floats are written with all digits that matter."""
    for relation in call.relations.values():
        if relation.key is None:
            raise InvalidParameterError(
                f"A budget in a file cannot account for '{relation.description}': give"
                f" {type(relation).__name__} a `key`, which says in words what it may be accounted"
                " for with."
            )
    return {
        "kind": "call",
        "identifier": call.identifier,
        "eps": json_number(call.eps),
        "delta": json_number(call.delta),
        "charges": [
            {"price": _numbers(charge.price), "entry": _numbers(charge.entry)}
            for charge in call.charges
        ],
        "relations": {text: relation.key for text, relation in call.relations.items()},
        "randomness": call.randomness,
        "parts": call.parts,
        "share": None if call.share is None else _numbers(call.share),
    }


def _numbers(thing: Any) -> dict[str, Any]:
    values = {one.name: getattr(thing, one.name) for one in fields(thing)}
    if "corners" in values:
        values["corners"] = [[int(number), json_number(mu)] for number, mu in values["corners"]]
    return {name: json_number(value) for name, value in values.items()}


def call_from_dict(body: dict[str, Any]) -> Call:
    """Undo :func:`call_to_dict`.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError
        If it is no such data.
    """
    return Call(
        identifier=str(body["identifier"]),
        eps=_number(body["eps"]),
        delta=_number(body["delta"]),
        charges=tuple(
            Charge(_price(charge["price"]), _entry(charge["entry"])) for charge in body["charges"]
        ),
        relations={
            text: RecordedRelation(text, str(key)) for text, key in body["relations"].items()
        },
        randomness={str(text): bool(seeded) for text, seeded in body["randomness"].items()},
        parts=tuple((str(partition), int(part)) for partition, part in body["parts"]),
        share=None if body["share"] is None else _share(body["share"]),
    )


def _share(data: dict[str, Any]) -> Share:
    return Share(str(data["identifier"]), _number(data["eps"]), _number(data["delta"]))


def _price(data: dict[str, Any]) -> Price:
    corners = tuple((int(number), _number(mu)) for number, mu in data["corners"])
    numbers = {name: _number(data[name]) for name in ("eps", "delta", "mu", "shift")}
    # Older versions knew no chances.
    return Price(law=data["law"], corners=corners, chance=_number(data.get("chance", 0)), **numbers)


def _entry(data: dict[str, Any]) -> LedgerEntry:
    entry = LedgerEntry(**data)
    return LedgerEntry(
        **{**data, "sensitivity": _number(entry.sensitivity), "draws": int(entry.draws)}
    )


def _number(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError(value)
    return number
