"""Hidden numbers of linear Gaussian networks given observed ones, coordinate by coordinate (`coordinates`, `vectors`),
in parts that depend on each other (`components`). `conditioning` regresses missing numbers on those found, `reversals`
eliminates them one after the other in a narrow order (`widths`, `narroworders`), `ancestry` and `pathmoments` sum over
paths; `precision` and `decimals` repeat with more digits what has lost too many."""
