"""Numbers that are released so that the true rows hold, surely or probably."""

from privlp.methods.tightened.method import Tightened as Tightened
