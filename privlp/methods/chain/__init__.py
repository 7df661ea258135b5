"""A chain of noisy descents: for small programs and public regions of any kind."""

from privlp.methods.chain.method import Chain as Chain
