"""Tables of the page on programs whose optimum nobody knows beforehand, one a file."""
