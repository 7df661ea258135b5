"""Sharing scarce supplies by private prices: jointly private to each person.

``people`` holds what people want, ``demand`` what they ask for at given prices, ``planning`` the
noise and the reserve, ``losses`` what these cost, ``stages`` the paid draws, ``allocate`` the
function that users call, and ``result`` the released prices with everybody's own answer to them.
Proof: ``docs/proofs.md``, "Allocation by private prices".
"""
