"""Sharing scarce supplies by private prices: jointly private to each person.

From low to high: ``demand`` holds what is public and what people ask for at given prices,
``planning`` the noise, the reserve and what they cost, ``people`` what people want, ``result`` the
released prices with everybody's own answer to them, and ``allocate`` the function that users call,
with its paid draws. Proof: ``docs/proofs.md``, "Allocation by private prices".
"""
