"""The problem: what the user states, how it is read, and its standard form."""

from privlp.problem.linear_program import LinearProgram as LinearProgram
from privlp.problem.standard_form import PrivateRows as PrivateRows
from privlp.problem.standard_form import StandardForm as StandardForm
