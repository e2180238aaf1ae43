r"""Sample sizes at which maximum likelihood estimates are close to the truth, in relative entropy.

$$P\left(D(P^* \,\|\, \hat P) - D(P^* \,\|\, P_{\text{opt}}) > n \epsilon\right) \le
n K^{d+1} \exp\left(-2 M \lambda^{2(d+1)} \frac{\epsilon^2}{(1 + \epsilon)^2}\right)$$

for a network of $n$ variables with at most $K$ states and $d$ parents, if no conditional probability of the truth is
below $\lambda$; a single multinomial is the network with $n = 1$ and $d = 0$.

Reference: Koller & Friedman, section 17.6.2.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from sepset.base.checks import fraction, number, whole
from sepset.errors import ModelError, TooLarge

MOST_ROWS = 1e300
"""The largest number of rows that is told."""


@dataclass(frozen=True, slots=True)
class DivergenceBound:
    r"""The bound on the probability that estimated parameters are far from the best, in relative entropy.

    It holds whatever the truth is, and is loose: thousands of rows often do where it asks for millions.

    Args:
        num_states: $K$, the most states of a variable.
        smallest: $\lambda$, a number that no conditional probability of the truth is below.
        num_variables: $n$.
        max_parents: $d$, the most parents of a variable in the network that is learned.
        refined: whether the bound of a single multinomial is sharpened: $\lambda \epsilon / (K \lambda + \epsilon)$ in
            place of $\lambda \epsilon / (1 + \epsilon)$, which is the same for $\lambda = 1 / K$ and more otherwise.

    Reference: Koller & Friedman, proposition 17.7, theorem 17.4, corollaries 17.2 and 17.3; exercise 17.19.
    Guarantee: never below the probability.
    Tested by: learning/estimation/test_samplesizes.py::test_exact_tails_are_below_the_bound

    >>> bound = DivergenceBound(2, smallest=0.1)
    >>> bound.rows_needed(0.1, level=0.95), round(bound.probability(30_000, 0.1), 4)
    (22318, 0.014)
    """

    num_states: int
    _: KW_ONLY
    smallest: float
    num_variables: int = 1
    max_parents: int = 0
    refined: bool = False

    def __post_init__(self) -> None:
        whole("num_states", self.num_states, least=2)
        whole("num_variables", self.num_variables, least=1)
        whole("max_parents", self.max_parents)
        fraction("smallest", self.smallest)
        if self.smallest * self.num_states > 1.0:
            raise ModelError(
                f"Of {self.num_states} probabilities one is at most {1 / self.num_states:.4g}; found smallest="
                f"{self.smallest:g}."
            )
        if self.refined and (self.num_variables, self.max_parents) != (1, 0):
            raise ModelError("The refined bound is that of a single multinomial. Use refined=False for a network.")

    def probability(self, num_rows: int, error: float) -> float:
        r"""The bound on the probability that the relative entropy exceeds the least by more than $n \epsilon$.

        Args:
            num_rows: $M$.
            error: $\epsilon$, in nats for each variable.
        """
        whole("num_rows", num_rows)
        number("error", error, above=0)
        return math.exp(min(self._log_cells - 2.0 * num_rows * self._reach(error) ** 2, 0.0))

    def rows_needed(self, error: float, *, level: float = 0.95) -> int:
        r"""The least number of rows at which the bound is at most one less `level`.

        Args:
            error: $\epsilon$, in nats for each variable.
            level: $1 - \delta$.

        >>> DivergenceBound(2, smallest=0.1, num_variables=5, max_parents=2).rows_needed(0.1) // 10**6
        404
        """
        number("error", error, above=0)
        fraction("level", level)
        rows, squared = self._log_cells - math.log(1.0 - level), 2.0 * self._reach(error) ** 2
        if rows > MOST_ROWS * squared:
            raise TooLarge(
                f"The bound asks for more than {MOST_ROWS:g} rows, with {self.max_parents} parents of smallest="
                f"{self.smallest:g} and error={error:g}. It says nothing there; use fewer parents or a larger error."
            )
        return math.ceil(rows / squared)

    def error(self, num_rows: int, *, level: float = 0.95) -> float:
        r"""The least $\epsilon$ that the bound allows at this level; infinite where rows are too few to say anything.

        Args:
            num_rows: $M$.
            level: $1 - \delta$.

        >>> round(DivergenceBound(2, smallest=0.1).error(22_318), 4), DivergenceBound(2, smallest=0.1).error(184)
        (0.1, inf)
        """
        whole("num_rows", num_rows, least=1)
        fraction("level", level)
        reach = math.sqrt((self._log_cells - math.log(1.0 - level)) / (2.0 * num_rows))
        if self.refined:
            rest = self.smallest - reach
            return reach * self.num_states * self.smallest / rest if rest > 0 else math.inf
        scale = self.smallest ** (self.max_parents + 1)
        return reach / (scale - reach) if reach < scale else math.inf

    @property
    def _log_cells(self) -> float:
        """The logarithm of the number of probabilities that may be off."""
        return math.log(self.num_variables) + (self.max_parents + 1) * math.log(self.num_states)

    def _reach(self, error: float) -> float:
        """How far each of them may be off."""
        if self.refined:
            return self.smallest * error / (self.num_states * self.smallest + error)
        return self.smallest ** (self.max_parents + 1) * error / (1.0 + error)
