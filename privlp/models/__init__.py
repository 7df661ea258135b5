"""Linear programs that people bring, in their own words.

Each function takes the arrays of its field and returns a :class:`Model`: a linear program with the
right neighbour relation, whose answer is read back in the terms of the field. It raises
:class:`~privlp.InvalidProblemError` if shapes do not agree, or numbers have the wrong sign.

>>> from privlp import models, solve
>>> market = models.simulated.deliveries(seed=0)
>>> lp = models.transport(**market)
>>> solution = solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0)
>>> lp.values(solution)["shipments"].shape == market["costs"].shape
True
"""

from __future__ import annotations

from privlp.models import simulated as simulated
from privlp.models.flows import min_cost_flow as min_cost_flow
from privlp.models.flows import transport as transport
from privlp.models.model import Model as Model
from privlp.models.people import cvar_portfolio as cvar_portfolio
from privlp.models.people import diet as diet
from privlp.models.people import staffing as staffing

__all__ = ["Model", "cvar_portfolio", "diet", "min_cost_flow", "simulated", "staffing", "transport"]
