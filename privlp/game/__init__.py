"""The game of a dual player over private rows and a private primal player, and its one loop."""
