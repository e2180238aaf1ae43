r"""The distribution over all parameters of a network, given complete data.

Parameters of different blocks stay independent, and so do those of different contexts:

$$P(\theta \mid \mathcal D) = \prod_k \prod_{\mathbf u} P(\theta^k_{\mathbf u} \mid \mathcal D)$$

Reference: Koller & Friedman, propositions 17.5 and 17.6, and section 17.5.3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, fraction, generator, number
from sepset.base.display import Report, Shown, plain
from sepset.base.extras import FrameKind, frame
from sepset.base.text import counted, nearest
from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.dirichletposterior import DirichletPosterior
from sepset.cpds.parameters import Parameterization, check_parameterization
from sepset.cpds.regressionposterior import RegressionPosterior
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, ModelError, ScopeError
from sepset.factors.labels import MOST_SHOWN, cut, name_of
from sepset.learning.blocks import prior_for
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task
from sepset.models.alignment import with_parameters_of
from sepset.models.bayesnet import BayesNet
from sepset.models.rows import complete
from sepset.variables.variable import VariableLike

BlockPosterior: TypeAlias = DirichletPosterior | RegressionPosterior

COLUMNS = ("variable", "given", "parameter", "mean", "sd", "low", "high")


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Report):
    r"""The distribution over the parameters of a network.

    Attributes:
        template: the network whose parameters these are.
        blocks: the posterior of each parameter block; blocks without parameters are left out.
        num_rows: the number of rows it has seen, or their total weight.

    Reference: Koller & Friedman 17.4, 17.5.3.
    Guarantee: exact.
    Tested by: learning/test_posterior.py::test_the_evidence_is_a_chain_of_predictions

    >>> from sepset.cpds.priors.dirichlet import Dirichlet
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> from sepset.learning.estimation.estimators import Bayes
    >>> found = fit(DAG.parse("coin"), {"coin": list("HTTHH")}, Bayes(Dirichlet(1))).posterior
    >>> round(found.tail("coin", "H", above=0.6), 5), round(float(np.exp(found.log_marginal_likelihood)), 7)
    (0.45568, 0.0166667)
    """

    template: BayesNet
    blocks: Mapping[ParameterBlock, BlockPosterior] = field(repr=False)
    _: KW_ONLY
    num_rows: float = 0.0

    @classmethod
    def of(cls, stats: Statistics, prior: object) -> Posterior:
        """The posterior from pooled statistics and a prior for each block."""
        chosen = {block: prior_for(prior, pool.cpds) for block, pool in stats.blocks.items()}
        blocks = {
            block: _posterior(pool.cpds, chosen[block], pool.total)
            for block, pool in stats.blocks.items()
            if pool.cpds[0].num_parameters or _has_posterior(pool.cpds[0], chosen[block])
        }
        return cls(stats.template, blocks, num_rows=stats.num_rows)

    def block(self, name: VariableLike) -> BlockPosterior:
        """The posterior of one block, by its name or by a variable whose CPD uses it."""
        asked = name if isinstance(name, str) else name.name
        direct = self.blocks.get(ParameterBlock(asked))
        if direct is None and asked in self.template.variables:
            direct = self.blocks.get(self.template.cpd(asked).block)
        if direct is None:
            raise ScopeError(f"No parameters are named {asked!r}.{nearest(asked, [b.name for b in self.blocks])}")
        return direct

    @property
    def log_marginal_likelihood(self) -> float:
        r"""$\log P(\mathcal D) = \log \int P(\mathcal D \mid \theta)\, P(\theta)\, d\theta$ of all rows seen so far."""
        return float(sum(part.log_marginal_likelihood() for part in self.blocks.values()))

    @property
    def shown_evidence(self) -> str:
        """The log marginal likelihood as text, or why there is none."""
        if not all(part.is_proper for part in self.blocks.values()):
            return "undefined: the prior is improper"
        return f"{self.log_marginal_likelihood:.10g}"

    @property
    def is_mean_exact(self) -> bool:
        """Whether the network of expected parameters gives one new row its exact probability.

        It does where parameters are multinomials and no row uses one twice; regressions predict Student t, not normal.

        Reference: Koller & Friedman, sections 17.4.2 and 17.5.3.
        """
        return all(part.is_mean_exact for part in self)

    def mean_model(self) -> BayesNet:
        r"""The network with expected parameters.

        Its probability of *one* row is exact where no row uses a parameter twice; for several rows, or parameters that
        several CPDs share, `log_predictive` is exact and this is an approximation. Variances of linear Gaussians
        are expected variances.

        Reference: Koller & Friedman, equation 17.13.
        """
        return self._network(part.mean_cpds() for part in self)

    def sample_model(self, seed: Seed = 0) -> BayesNet:
        """The network with parameters drawn from the posterior."""
        rng = generator(seed)
        return self._network(part.sampled_cpds(rng) for part in self)

    def __iter__(self) -> Iterator[BlockPosterior]:
        return iter(self.blocks.values())

    def _network(self, parts: Iterator[Sequence[CPD]]) -> BayesNet:
        return self.template.with_cpds(*(cpd for part in parts for cpd in part))

    def interval(
        self, variable: VariableLike, parameter: Any, *, given: Mapping[Any, Any] | None = None, level: float = 0.95
    ) -> tuple[float, float]:
        """The central credible interval of one parameter.

        Args:
            variable: the child.
            parameter: a state of a discrete child; "intercept", "variance" or a parent's name for a real one, with
                coordinates of vectors in brackets, the child's first: "intercept[1]", "u[1, 0]".
            given: the states of all its (discrete) parents.
            level: the probability that the parameter lies inside.
        """
        return self._own(variable).interval(parameter, fraction("level", level), _states(given))

    def tail(
        self, variable: VariableLike, parameter: Any, *, above: float, given: Mapping[Any, Any] | None = None
    ) -> float:
        r"""The posterior probability $P(\theta > t \mid \mathcal D)$ of one parameter; arguments as in `interval`.

        Reference: Koller & Friedman, section 17.3.2.
        """
        return self._own(variable).tail(parameter, number("above", above, finite=False), _states(given))

    def moments(
        self, variable: VariableLike, parameter: Any, *, given: Mapping[Any, Any] | None = None
    ) -> tuple[float, float]:
        """The mean and the standard deviation of one parameter; arguments as in `interval`."""
        return self._own(variable).moments(parameter, _states(given))

    def log_density(self, model: BayesNet, parameterization: Parameterization = "softmax") -> float:
        r"""The log density of the parameters of `model`, which has the form of this posterior's network.

        Variables, parents and states are matched by name; their order may be any.

        A density belongs to a parameterization: with $\eta_k = \log(\theta_k / \theta_K)$ that of logits is that of
        probabilities times the Jacobian $\prod_k \theta_k$. `PosteriorMode` finds where it is largest.

        Args:
            parameterization: "softmax" (logits, logarithms of variances), or "theta" (the parameters themselves).

        Reference: Koller & Friedman, box 17.D and equation 17.15.
        """
        check_parameterization(parameterization)
        named = with_parameters_of(self.template, model, "model")
        parts: list[tuple[Any, CPD]] = [(part, named.cpd(part.cpds[0].child)) for part in self]
        return float(sum(part.log_density(cpd, parameterization) for part, cpd in parts))

    def _own(self, variable: VariableLike) -> BlockPosterior:
        """The block of a variable, read with that variable's own names."""
        cpd = self.template.cpd(variable)
        part = self.block(cpd.block.name)
        return replace(part, cpds=(cpd, *part.cpds[1:]))  # type: ignore[arg-type]  # tied CPDs are of one kind

    def update(self, data: object, *, weights: Weights = None) -> Posterior:
        """The posterior after more rows: the same as of all rows at once, in any order and any chunks.

        Reference: Koller & Friedman, section 17.7.
        """
        more = Statistics.of(Task(self.template, data, weights=weights), "Posterior.update")
        blocks = {block: part.updated(more.blocks[block].total) for block, part in self.blocks.items()}
        return Posterior(self.template, blocks, num_rows=self.num_rows + more.num_rows)

    def downdate(self, data: object, *, weights: Weights = None) -> Posterior:
        """The posterior without rows that it has seen: `update` undone."""
        less = Statistics.of(Task(self.template, data, weights=weights), "Posterior.downdate")
        blocks = {block: part.downdated(less.blocks[block].total) for block, part in self.blocks.items()}
        return Posterior(self.template, blocks, num_rows=self.num_rows - less.num_rows)

    def to_frame(self, kind: FrameKind = "pandas", *, level: float = 0.95) -> Any:
        """One row per parameter: its child, context and name, mean, standard deviation and credible interval.

        Args:
            kind: the library of the frame.
            level: the probability that a parameter lies inside its interval.
        """
        rows = list(self._parameters(level))
        return frame({name: [row[k] for row in rows] for k, name in enumerate(COLUMNS)}, kind)

    def to_dict(self) -> dict[str, Any]:
        """The rows of `to_frame` in plain values, as `to_json` writes them."""
        rows = [dict(zip(COLUMNS, plain(row), strict=True)) for row in self._parameters()]
        return {"num_rows": self.num_rows, "parameters": rows}

    def _parameters(self, level: float = 0.95) -> Iterator[tuple[Any, ...]]:
        """Each parameter with its moments and its interval, as `to_frame` has them."""
        for part in self:
            for child, parameter, given in part.names():
                context = ", ".join(f"{name}={state!r}" for name, state in given.items())
                moments = self.moments(child, parameter, given=given)
                yield (
                    child.name,
                    context,
                    str(parameter),
                    *moments,
                    *self.interval(child, parameter, given=given, level=level),
                )

    def log_predictive(self, data: object) -> Floats:
        r"""$\log P(\xi \mid \mathcal D)$ of each row on its own, exact, the parameters integrated out.

        Args:
            data: complete rows as a dataset, a frame, a mapping of columns, or one assignment.

        Reference: Koller & Friedman, equation 17.12 and section 17.5.3.
        """
        columns, num_rows = complete(data, self.template.variables)
        total = np.zeros(num_rows)
        for part in self:
            total += part.log_predictive(columns)
        for cpd in self.template.cpds:
            if cpd.block not in self.blocks:
                total += cpd.log_probability({v: columns[v] for v in cpd.scope})
        return total

    def log_joint_predictive(self, data: object) -> float:
        r"""$\log P(\xi[M+1], \dots, \xi[M+m] \mid \mathcal D)$ of all rows together, exact.

        Rows are not independent: each is evidence about the parameters of the next.

        Reference: Koller & Friedman, exercise 17.18.
        """
        columns, num_rows = complete(data, self.template.variables)
        more = Statistics.of_columns(self.template, columns, num_rows)
        fixed = [cpd for cpd in self.template.cpds if cpd.block not in self.blocks]
        total = sum(part.log_gain(more.blocks[block].total) for block, part in self.blocks.items())
        return float(total + sum(cpd.log_probability({v: columns[v] for v in cpd.scope}).sum() for cpd in fixed))

    def __repr__(self) -> str:
        return f"Posterior({counted(len(self.blocks), 'block')}, {self.num_rows:,.10g} rows)"

    def _shown(self) -> Shown:
        """The first parameters with their means, deviations and 95% intervals."""
        first = [(*row[:3], *(f"{x:.4g}" for x in row[3:])) for row in itertools.islice(self._parameters(), MOST_SHOWN)]
        count = sum(1 for part in self for _ in part.names())
        kinds = " and ".join(dict.fromkeys(part.kind for part in self))
        ends = "low and high end the 95% interval" if first else ""
        told = "; ".join(filter(None, (kinds, ends, cut(count, "parameters"))))
        return Shown(COLUMNS, first, repr(self), told, words=3)


def _states(given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError(f"given= maps the parents to their states; found {given!r}.")
    return given or {}


def _has_posterior(cpd: CPD, prior: object) -> bool:
    """Whether a CPD without free parameters, such as that of a constant, has a posterior all the same."""
    return cpd.parameters.is_conjugate and cpd.parameters.takes(prior)


def _posterior(cpds: tuple[CPD, ...], prior: Any, total: Any) -> BlockPosterior:
    if prior is None:
        raise ModelError(f"Bayes needs a prior for {name_of(cpds[0])}, such as BDeu(10). Without one, use MLE.")
    found: BlockPosterior = cpds[0].parameters.posterior(prior, cpds, total)
    return found
