"""Message passing on wired models: beliefs of all variables from local updates, exact on forests."""
