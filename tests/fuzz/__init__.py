"""Foreign input of every kind, thrown at everything that takes some: it is accepted, or refused in a sentence.

A case is a target and a number, from which all its input follows: ``python -m fuzz TARGET NUMBER``
in the folder ``tests`` runs it again. ``make fuzz`` runs very many of them, ``test_fuzz.py`` a few.
"""
