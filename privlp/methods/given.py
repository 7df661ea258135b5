"""What noisy counts say of a given optimum."""

from enum import Enum


class Given(Enum):
    """Whether the given value of the objective is right."""

    RIGHT = "right"
    HIGH = "higher than needed"
    LOW = "too low"
