"""Networks with a hidden class: latent classes of states, mixtures of normals, and both at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.base.checks import whole
from sepset.base.foreign import translated
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import AnyVariable
from sepset.factors.labels import name_of
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import default_cpd
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector


@translated
def latent_class(
    variables: Iterable[AnyVariable], classes: int, *, name: str = "class", correlated: bool = False
) -> BayesNet:
    r"""The network in which a hidden class explains all variables, ready for EM.

    $$P(\mathbf x) = \sum_{c} P(c) \prod_i P(x_i \mid c)$$

    States give a latent-class model, real variables a mixture of normals, both together a mixture over both.

    Args:
        variables: what is observed.
        classes: how many states the hidden class has.
        name: what it is called.
        correlated: whether real variables depend on each other within a class (full covariances, as a chain of lines)
            instead of being independent there.

    Reference: Koller & Friedman, sections 3.1.3 and 19.2.2.4.
    Guarantee: template for EM.
    Tested by: learning/classify/test_latentclass.py::test_correlated_numbers_are_a_full_mixture

    >>> from sepset.learning.incomplete.em import EM
    >>> from sepset.api.learning import fit
    >>> from sepset.variables.variable import Real
    >>> net = latent_class([Real("x")], 2)
    >>> net, net.cpd("x")
    (BayesNet(2 variables, 1 edge, 5 parameters), LinearGaussian(x | class[2]))
    >>> found = fit(net, {"x": [0.0, 0.3, -0.2, 9.0, 9.5, 8.7]}, EM()).model
    >>> sorted(found.cpd("x").intercept.ravel().round(1).tolist())
    [0.0, 9.1]
    """
    observed = tuple(variables)
    strange = [v for v in observed if not isinstance(v, Discrete | Vector)]
    if strange:
        raise ModelError(f"latent_class takes variables such as Discrete({strange[0]!r}, ...); found {strange[0]!r}.")
    whole("classes", classes, least=1)
    if name in {v.name for v in observed}:
        raise ModelError(f"{name!r} is an observed variable; give the hidden class another name=.")
    hidden = Discrete(name, int(classes))
    Universe([hidden, *observed])
    cpds = [default_cpd(hidden, ())]
    before: list[Vector] = []
    for variable in observed:
        cpds.append(default_cpd(variable, (hidden, *before) if isinstance(variable, Vector) else (hidden,)))
        if correlated and isinstance(variable, Vector):
            before.append(variable)
    return BayesNet(*cpds)


@translated
def ordered_states(model: BayesNet, hidden: VariableLike) -> BayesNet:
    r"""The same network with the states of a hidden root in order of falling probability.

    States of a hidden variable can change places without changing anything that is observed ($K!$ relabelings); this
    one order makes fits comparable.

    Args:
        hidden: a variable with a table and without parents.

    Reference: Koller & Friedman, section 19.1.4.
    Guarantee: same observed distribution.
    Tested by: learning/classify/test_latentclass.py::test_orders_change_nothing_that_is_observed

    >>> from sepset.cpds.table import TableCPD
    >>> h, x = Discrete("h"), Discrete("x")
    >>> net = BayesNet(TableCPD(h, [0.2, 0.8]), TableCPD(x, [[1.0, 0.0], [0.5, 0.5]], given=h))
    >>> ordered_states(net, "h").cpd("x").values.tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    variable = model.variables.named(hidden)
    own = model.cpd(variable)
    if not isinstance(variable, Discrete) or not own.parameters.is_table or own.parents:
        raise NotApplicable(f"Only a discrete root with a table has states to order; found {own!r}.")
    order = np.argsort(-own.parameters.arrays["rows"][0], kind="stable")
    changed = [own.parameters.relabeled(variable, order)]
    for name in model.children(variable):
        questions = model.cpd(name).parameters
        if not questions.relabels(variable):
            raise NotApplicable(f"The states of {variable.name!r} cannot be ordered below {name_of(questions.cpd)}.")
        changed.append(questions.relabeled(variable, order))
    return model.with_cpds(*changed)
