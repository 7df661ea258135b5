"""Noise without floating-point artefacts: see :mod:`privlp.privacy.noise.rounding`."""
