"""What every elimination order needs, and only that, is refused before any plan or table is made."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference import costs as prices, maxima, refusals
from sepset.inference.refusals import refuse_cores, refuse_maxima, refuse_minors, refuse_sums

SMALL = ss.CliqueTree(memory=2**16)
"""A method that takes no tables of 2^23 entries."""


def complete_pairs(pairs, num, states=2, rng=None):
    """A Markov network with a table for each pair."""
    v = [ss.Discrete(f"v{i}", states) for i in range(num)]
    rng = rng or np.random.default_rng(0)
    return ss.MarkovNet(
        *(ss.Table((v[i], v[j]), rng.uniform(0.5, 2.0, (states, states))) for i, j in pairs), variables=v
    )


def smallest_width(pairs, num):
    """The treewidth, by all orders of elimination."""
    best = num
    for order in itertools.permutations(range(num)):
        near = {i: {b for a, b in (*pairs, *((b, a) for a, b in pairs)) if a == i} for i in range(num)}
        width = 0
        for i in order:
            width = max(width, len(near[i]))
            for a in near[i]:
                near[a] |= near[i] - {a}
                near[a].discard(i)
            del near[i]
        best = min(best, width)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_what_is_refused_has_no_smaller_order(seed, monkeypatch):
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 1)
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(6), 2) if rng.random() < 0.6]
    width = smallest_width(pairs, 6)
    net = complete_pairs(pairs, 6)
    for least in range(1, 6):
        try:
            refuse_cores(net.problem(), (), 8 * 2**least)
        except TooLarge:
            assert width >= least
    with pytest.raises(TooLarge, match="Every elimination order"):
        refuse_cores(complete_pairs(itertools.combinations(range(6), 2), 6).problem(), (), 8 * 2**5)


def needed_pairs(dag, asked, observed):
    """The edges of the moral graph of what a question needs, without what is observed, and joined to what is asked."""
    above = set(ss.graphs.ancestors(dag, [*asked, *observed], inclusive=True))
    families = [{*dag.parents(v), v} - {*observed} for v in dag.nodes if v in above]
    pairs = {pair for family in families for pair in itertools.combinations(sorted(family), 2)}
    joined = set(asked)
    while more := {v for pair in pairs if joined & {*pair} for v in pair} - joined:
        joined |= more
    return [pair for pair in pairs if not asked or joined & {*pair}]


@pytest.mark.parametrize("seed", range(4))
def test_minors_refuse_only_what_every_order_needs(seed, monkeypatch):
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 1)
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    rng, names, num_refused = np.random.default_rng(seed), [*"abcdef"], 0
    for _ in range(4):
        edges = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.6]
        net = ss.BayesNet.random(ss.DAG(rng.permutation(names).tolist(), edges), seed=seed)
        for asked, observed in ((["f"], []), (["e"], ["f"]), ([], ["d", "f"])):
            places = {v: i for i, v in enumerate(names)}
            pairs = [(places[a], places[b]) for a, b in needed_pairs(net.dag, asked, observed)]
            width = smallest_width(pairs, 6)
            for least in range(1, 6):
                targets, seen = net.variables.ids(asked).tolist(), net.variables.ids(observed).tolist()
                try:
                    refuse_minors(net.problem(), targets, seen, 8 * 2**least)
                except TooLarge:
                    assert width >= least
                    num_refused += 1
    assert num_refused > 10


def test_minors_of_grids_and_of_what_has_zeros(monkeypatch):
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    x = ss.Discrete.array("x", (25, 24), states=2)
    grid = ss.MarkovNet(ss.potentials.pairwise(x.grid_edges(), ss.potentials.Potts(0.5)))
    for targets in (None, (7,), ()):
        with pytest.raises(TooLarge, match="Every elimination order"):
            refuse_minors(grid.problem(), targets, (), 2**16)  # 23 neighbors or more
    refuse_minors(grid.problem(), None, range(600), 2**16)
    refuse_minors(grid.problem(), None, [*range(48, 72), *range(240, 264), *range(432, 456)], 2**16)
    dag = ss.DAG([f"v{i}" for i in range(30)], [(f"v{j}", f"v{i}") for i in range(30) for j in range(max(0, i - 8), i)])
    for zero in (0.0, 0.1):
        cpds = [
            ss.TableCPD(ss.Discrete(v), np.full([2] * (k + 1), 0.5), given=list(map(ss.Discrete, dag.parents(v))))
            for v, k in ((v, len(dag.parents(v))) for v in dag.nodes[:-1])
        ]
        last = ss.TableCPD(
            ss.Discrete("v29"), np.broadcast_to([zero, 1 - zero], [2] * 9), given=[c.child for c in cpds[-8:]]
        )
        problem = ss.BayesNet(*cpds, last).problem()
        monkeypatch.setattr(prices, "HOPELESS_FACTOR", 2.0**-8)
        if zero:
            with pytest.raises(TooLarge, match="Every elimination order"):
                refuse_minors(problem, [29], (), 2**19)
        else:
            refuse_minors(problem, [29], (), 2**19)


def test_a_hopeless_network_is_refused_without_compiled_kernels(monkeypatch):
    """A random network with three parents each, and one that is as large but a tree, which is answered."""
    rng = np.random.default_rng(0)
    names, parents = [f"v{i}" for i in range(1200)], [rng.integers(0, max(i, 1), 3).tolist() for i in range(1200)]
    edges = {(names[p], names[i]) for i, above in enumerate(parents) for p in above if i}
    wide = ss.BayesNet.random(ss.DAG(names, sorted(edges)))
    tree = ss.BayesNet.random(ss.DAG(names, [(names[above[0]], names[i]) for i, above in enumerate(parents) if i]))
    monkeypatch.setattr("sepset.inference.refusals.are_loaded", lambda: False)
    monkeypatch.setattr("sepset.inference.plan.symbolic_elimination", None)
    engine = ss.prepare(wide, method=SMALL)
    seen = dict.fromkeys(names[1000:1199], 1)
    questions = [partial(engine.query, "v1199"), partial(engine.query, "v3"), engine.marginals, engine.log_partition]
    for ask in questions:
        with pytest.raises(TooLarge, match="as a part of"):
            ask(given=seen)
    monkeypatch.undo()
    monkeypatch.setattr("sepset.inference.refusals.are_loaded", lambda: False)
    assert ss.prepare(wide).query("v2").values.sum() == pytest.approx(1.0)
    assert ss.prepare(tree).query("v1199").values.sum() == pytest.approx(1.0)


def test_networks_of_many_noisy_ors_are_refused_before_they_have_a_line(monkeypatch):
    net, seen = noisy_findings(np.random.default_rng(0), 200, 40, 40), {f"f{i}": 1 for i in range(40)}
    monkeypatch.setattr("sepset.models.bayesnet.line_through", None)
    monkeypatch.setattr(prices, "VARIABLES_ALWAYS_PLANNED", 0)
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    for ask in (partial(ss.query, net, "c0"), partial(ss.marginals, net), partial(ss.log_probability, net)):
        with pytest.raises(TooLarge, match="Every elimination order"):
            ask(given=seen, method=SMALL)
    row = {name: [value] for name, value in seen.items()}
    for targets in (None, ["c0"], ["c0", "c1"]):
        with pytest.raises(TooLarge, match="Every elimination order"):
            ss.predict(net, row, targets=targets, method=SMALL)
    monkeypatch.setattr("sepset.inference.maxima.PARENT_NANOSECONDS", 1e7)
    with pytest.raises(TooLarge, match="functions of many variables couple"):
        ss.map_assignment(net, given=seen)


def noisy_findings(rng, num_causes, num_findings, num_parents):
    """A network of findings that share causes."""
    causes = [ss.Discrete(f"c{i}") for i in range(num_causes)]
    cpds = [ss.TableCPD(v, [0.9, 0.1]) for v in causes]
    for i in range(num_findings):
        chosen = [causes[j] for j in rng.choice(num_causes, num_parents, replace=False)]
        effects = dict(zip(chosen, rng.uniform(0.1, 0.6, num_parents).tolist(), strict=True))
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{i}"), effects, leak=0.05))
    return ss.BayesNet(*cpds)


def test_sums_before_maxima_are_refused_only_if_every_order_needs_it(monkeypatch):
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 1)
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    rng, num_refused = np.random.default_rng(5), {refuse_sums: 0, refuse_maxima: 0}
    for _ in range(3):
        net = noisy_findings(rng, 6, 4, 4)
        problem, ids = net.problem(), dict(zip([v.name for v in net.variables], range(10), strict=True))
        start, members = problem.scopes
        rows = [members[i:j].tolist() for i, j in itertools.pairwise(start.tolist())]
        for asked, seen, left in (([], 4, 4), (["c0"], 4, 4), (["c1", "f3"], 2, 3)):
            over, observed = [ids[v] for v in asked], [ids[f"f{i}"] for i in range(seen)]
            children = {*range(6), *(ids[f"f{i}"] for i in range(left))}
            owners = {n: g.child for g in problem.conditionals for n in g.factors}
            for refuse, without in ((refuse_sums, {*over, *observed}), (refuse_maxima, {*observed})):
                inside = [{*row} - without for n, row in enumerate(rows) if owners[n] in children]
                edges = {(str(a), str(b)) for row in inside for a, b in itertools.combinations(sorted(row), 2)}
                width = ss.graphs.treewidth(ss.UndirectedGraph(sorted({v for e in edges for v in e}), sorted(edges)))
                for least in range(1, 6):
                    try:
                        refuse(problem, over, observed, 8 * 2**least)
                    except TooLarge:
                        assert width >= least
                        num_refused[refuse] += 1
    assert min(num_refused.values()) > 10


def test_best_causes_and_sensitivity_are_refused_before_any_chain_is_made(monkeypatch):
    net, seen = noisy_findings(np.random.default_rng(0), 200, 60, 40), {f"f{i}": 1 for i in range(60)}
    expected = ss.map_assignment(net, over=["c0", "c1"], given={"f0": 1})
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 2.0**-16)
    assert ss.map_assignment(net, over=["c0", "c1"], given={"f0": 1}) == expected
    monkeypatch.setattr("sepset.inference.forms.rewritten", None)
    monkeypatch.setattr("sepset.cpds.influences.Influences.chain", None)
    for k in (1, 3):
        with pytest.raises(TooLarge, match="Every elimination order"):
            ss.map_assignment(net, over=["c0", "c1"], given=seen, k=k)
    monkeypatch.setattr(prices, "VARIABLES_ALWAYS_PLANNED", 100)
    monkeypatch.setattr("sepset.models.lines.line_of", None)
    with pytest.raises(TooLarge, match="Every elimination order"):
        ss.sensitivity(net, "c0", state=1, given=seen)


def test_joined_pairs_count_as_one_table_would(monkeypatch):
    """Random tables beside a network of chains: what is refused has a wide graph with their stars, too."""
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 1)
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    rng, num_refused = np.random.default_rng(8), 0
    for _ in range(4):
        net = noisy_findings(rng, 7, 4, 4)
        problem, ids = net.problem(), dict(zip([v.name for v in net.variables], range(11), strict=True))
        seen, causes = [ids[f"f{i}"] for i in range(4)], [ids[f"c{i}"] for i in range(7)]
        tables = [rng.permutation(causes)[:4] for _ in range(5)]
        stars = np.concatenate([np.stack([np.full(3, row[0]), row[1:]], axis=1) for row in tables])
        edges = {tuple(sorted(map(str, pair))) for pair in stars.tolist()}
        width = ss.graphs.treewidth(ss.UndirectedGraph([str(v) for v in causes], sorted(edges)))
        for least in range(1, 5):
            try:
                refuse_maxima(problem, causes, seen, 8 * 2**least, apart=seen, joined=stars)
            except TooLarge:
                assert width >= least
                num_refused += 1
        refuse_maxima(problem, causes, [*seen, *causes], 16, apart=seen, joined=stars)  # nothing is left of them
    assert num_refused >= 4


def test_tables_of_present_findings_are_refused_before_any_is_made(monkeypatch):
    net = noisy_findings(np.random.default_rng(1), 120, 60, 8)
    names = [f"c{i}" for i in range(120)]
    few = {f"f{i}": int(i < 4) for i in range(60)}  # absent findings join nothing
    expected = ss.map_assignment(net, over=names, given=few, method=ss.CliqueTree())
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 2.0**-20)
    assert ss.map_assignment(net, over=names, given=few, method=ss.CliqueTree()).log_value == expected.log_value
    monkeypatch.setattr("sepset.inference.rewriting.FormParts.part", None)
    monkeypatch.setattr(maxima, "PARENT_NANOSECONDS", 1e9)
    with pytest.raises(TooLarge, match="Every elimination order"):
        ss.map_assignment(net, over=names, given={f"f{i}": 1 for i in range(60)}, method=ss.CliqueTree())


def test_rows_with_few_cells_are_refused_before_any_plan(monkeypatch):
    net = noisy_findings(np.random.default_rng(1), 120, 60, 8)
    rows = {v.name: [0 if v.name == "f3" else None] for v in net.variables}
    monkeypatch.setattr(prices, "VARIABLES_OF_MINORS", 0)
    monkeypatch.setattr(prices, "VARIABLES_ALWAYS_PLANNED", 0)
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 2.0**-20)
    for name in ("plan.make_plan", "compiled.planner.make_plan", "rows.batch.compile_question"):
        monkeypatch.setattr(f"sepset.inference.{name}", None)
    with pytest.raises(TooLarge, match="Every elimination order"):
        ss.impute(net, rows)


def test_best_values_of_many_chains_are_refused_before_any_is_made(monkeypatch):
    rng, v = np.random.default_rng(0), [ss.Discrete(f"v{i}") for i in range(2000)]
    causes = [{v[j]: 0.5 for j in rng.choice(i, 4, replace=False).tolist()} for i in range(4, len(v))]
    effects = [ss.NoisyOr(child, given, leak=0.1) for child, given in zip(v[4:], causes, strict=True)]
    net = ss.BayesNet(*(ss.TableCPD(cause, [0.6, 0.4]) for cause in v[:4]), *effects)
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 2.0**-16)
    for made in ("cpds.influences.Influences.chain", "cpds.influences.Influences.products", "models.lines.line_of"):
        monkeypatch.setattr(f"sepset.{made}", None)
    for ask in (partial(ss.map_assignment, k=3), ss.max_marginals, ss.map_assignment):
        with pytest.raises(TooLarge, match="Every elimination order"):
            ask(net, method=ss.CliqueTree())


def test_several_states_count_for_what_is_refused():
    """With four states each, half as many neighbors have as many joint states."""
    edges = np.array([(i, j) for j in range(1200) for i in range(max(0, j - 25), j)])
    few, more = (ss.Discrete.array("v", 1200, states=num) for num in (2, 4))
    for variables in (few, more):
        net = ss.MarkovNet(ss.potentials.over_scopes(edges, ss.potentials.Potts(0.5), array=variables))
        if variables is few:  # 2^26 entries fit
            refuse_minors(net.problem(), None, (), 2**33)
            continue
        with pytest.raises(TooLarge, match="Every elimination order"):
            refuse_minors(net.problem(), None, (), 2**33)


def test_a_complete_graph_is_refused_without_a_plan(monkeypatch):
    net = complete_pairs(itertools.combinations(range(26), 2), 26)
    for name in ("plan.make_plan", "compiled.planner.make_plan", "compiled.compiler.answer_greedily"):
        monkeypatch.setattr(f"sepset.inference.{name}", None)
    engine = ss.prepare(net, method=SMALL)
    for ask in (engine.marginals, engine.log_partition):
        with pytest.raises(TooLarge, match="26 variables have 23 neighbors or more"):
            ask()
    with pytest.raises(TooLarge, match="25 variables have"):
        engine.query("v3", given={"v4": 1})


def test_observed_variables_and_zeros_and_states_count():
    net = complete_pairs(itertools.combinations(range(26), 2), 26)
    engine, given = ss.prepare(net, method=SMALL), {f"v{i}": i % 2 for i in range(18)}
    rest, joint = engine.marginals(given=given), engine.query(["v20", "v25"], given=given)
    assert np.allclose(joint.values.sum(axis=1), rest["v20"].values)
    v = [ss.Discrete(f"v{i}", 3) for i in range(26)]
    equal = ss.MarkovNet(*(ss.Table((a, b), np.eye(3)) for a, b in itertools.combinations(v, 2)))
    assert np.allclose(ss.prepare(equal, method=SMALL).marginals(given={"v0": 1})["v25"].values, [0, 1, 0])
    single = complete_pairs(itertools.combinations(range(26), 2), 26, states=1)
    assert ss.prepare(single, method=SMALL).marginals()["v7"].values.tolist() == [1.0]


def test_other_values_and_directed_models_are_left_to_plans(monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        refusals, "pairs_within_rows", lambda rows: looked_at.append(rows) or np.zeros((0, 2), np.int64)
    )
    net = ss.BayesNet.random(ss.DAG([f"v{i}" for i in range(50)], [(f"v{i}", f"v{i + 1}") for i in range(49)]))
    refuse_cores(net.problem(), (), 2**20)
    assert not looked_at
    refuse_cores(complete_pairs([(i, i + 1) for i in range(49)], 50).problem(), (), 2**20)
    assert len(looked_at) == 1
