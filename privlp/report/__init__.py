"""Reports on a solution, exact or private, and every picture that privlp draws."""
