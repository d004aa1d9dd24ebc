"""The command `nextinline`: the API from a terminal, for scripts and for trying a receiver."""
