"""A first small question is answered without a compiler, and as the compiled kernels answer it."""

from __future__ import annotations

import json

import numpy as np

from support.bounded import child

NUM_MODELS = 60
ANSWERS = """
    import json, sys
    import numpy as np
    import sepset as ss
    from sepset.kernels import kernel

    if {is_plain}:
        kernel.PLAIN_WORK = float("inf")
    else:
        kernel.load()

    def table(rng, *shape):
        rows = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]).reshape(shape)
        rows[rng.random(shape) < 0.15] = 0.0
        empty = rows.sum(-1) == 0.0
        rows[empty, 0] = 1.0
        return rows / rows.sum(-1, keepdims=True)

    def network(rng):
        size = int(rng.integers(1, 9))
        names = [ss.Discrete("v%d" % i, int(rng.integers(1, 4))) for i in rng.permutation(size)]
        cpds = []
        for i, v in enumerate(names):
            near = [names[j] for j in rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False)] if i else []
            cpds.append(ss.TableCPD(v, table(rng, *(u.num_states for u in near), v.num_states), given=near))
        return ss.BayesNet(*cpds)

    def field(rng):
        size = int(rng.integers(1, 8))
        names = [ss.Discrete("v%d" % i, int(rng.integers(1, 4))) for i in range(size)]
        near = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.4]
        far = 10.0 ** rng.integers(-200, 200)
        pairs = [ss.Table([names[i], names[j]], far * rng.random((names[i].num_states, names[j].num_states)))
                 for i, j in near]
        return ss.MarkovNet(*[ss.Table(v, rng.random(v.num_states)) for v in names], *pairs)

    def answers(model, rng):
        row = {{k: v[0] for k, v in model_row(model).items()}}
        seen = {{k: v for k, v in row.items() if rng.random() < 0.3}}
        rest = [v.name for v in model.variables if v.name not in seen]
        targets = [str(t) for t in rng.permutation(rest)[:2]]
        yield "query", np.ravel(ss.query(model, targets, given=seen).values).tolist() if targets else []
        all_of_them = ss.marginals(model, given=seen)
        yield "marginals", [np.asarray(all_of_them[v.name].values).tolist() for v in model.variables]
        yield "total", [float(ss.log_partition(model, given=seen))]
        yield "best", [str(sorted(ss.map_assignment(model, given=seen).assignment.items()))]
        drawn = ss.sample(model, 5, given=seen, seed=1).to_frame("pandas")
        yield "draws", [str(drawn.to_dict("list"))]

    def model_row(model):
        return ss.sample(model, 1, seed=0).to_frame("pandas").to_dict("list")

    for seed in range({num_models}):
        rng = np.random.default_rng(seed)
        model = (network if seed % 2 else field)(rng)
        print(json.dumps([seed, dict(answers(model, rng))]))
    print(json.dumps([ss.query(model, "v0").info["tier"], "numba" in sys.modules]))
"""


def lines(is_plain: bool) -> list:
    done = child(ANSWERS.format(is_plain=is_plain, num_models=NUM_MODELS))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_both_tiers_agree():
    """Values to 1e-12; best assignments, also among ties, and draws are the same."""
    *some, (tier, has_compiler) = lines(True)
    *others, (other_tier, _) = lines(False)
    assert (tier, has_compiler, other_tier) == ("plain", False, "compiled")
    assert len(some) == len(others) == NUM_MODELS
    for (seed, one), (_, two) in zip(some, others, strict=True):
        for name in ("best", "draws"):
            assert one[name] == two[name], (seed, name)
        for name in ("query", "total"):
            np.testing.assert_allclose(one[name], two[name], rtol=1e-12, atol=1e-300, err_msg=f"{seed} {name}")
        for x, y in zip(one["marginals"], two["marginals"], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-300, err_msg=str(seed))


LIGHT = """
    import json, sys
    import sepset as ss
    model, seen, found = ss.datasets.load("alarm"), {"HRBP": "HIGH"}, {}
    for name, work in %r.items():
        eval(work)
        found[name] = sorted({"numba", "llvmlite", "scipy", "pandas", "matplotlib", "sklearn"} & sys.modules.keys())
    print(json.dumps(found))
"""
QUESTIONS = {
    "query": 'ss.query(model, "HYPOVOLEMIA", given=seen)',
    "marginals": 'ss.marginals(model, given=seen)["HYPOVOLEMIA"]',
    "best": "ss.map_assignment(model, given=seen)",
    "draws": "ss.sample(model, 20, given=seen)",
    "forward draws": "model.sample(20)",
    "probability": "float(ss.log_probability(model, given=seen))",
    "plan": "print(ss.plan(model))",
}


def test_small_questions_load_nothing_heavy():
    """One process asks them one after the other: none of them loads anything for the next."""
    done = child(LIGHT % QUESTIONS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {name: [] for name in QUESTIONS}


COMMANDS = {
    "query": ["query", "alarm", "--target", "HYPOVOLEMIA", "--given", "HRBP=HIGH"],
    "map": ["map", "alarm", "--given", "HRBP=HIGH"],
    "info": ["info", "alarm"],
    "sample": ["sample", "alarm", "--rows", "5"],
    "convert": ["convert", "alarm", "alarm.bif"],
}


def test_commands_about_a_small_network_load_no_compiler(tmp_path):
    script = f"""
        import json, os, sys
        os.chdir({str(tmp_path)!r})
        from sepset.cli import app
        found = {{}}
        for name, arguments in {COMMANDS!r}.items():
            try:
                app(arguments)
            except SystemExit as end:
                assert not end.code, (name, end.code)
            found[name] = "numba" in sys.modules
        print(json.dumps(found))
    """
    done = child(script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == dict.fromkeys(COMMANDS, False)


def test_a_prepared_engine_is_compiled():
    done = child(
        """
        import sepset as ss
        engine = ss.prepare(ss.datasets.load("asia"))
        print(engine.query("lung").info["tier"], engine.marginals().info["tier"], engine.map_assignment().info["tier"])
        """
    )
    assert done.stdout.split() == ["compiled"] * 3, done.stderr


def test_a_large_question_is_compiled():
    done = child(
        """
        import numpy as np, sepset as ss
        states = ss.Discrete.array("p", (15, 15), states=2)
        grid = ss.MarkovNet.potts(states, 1.0, log_values=np.random.default_rng(0).normal(size=(15, 15, 2)))
        print(ss.query(grid, grid.variables[0].name).info["tier"])
        """
    )
    assert done.stdout.split() == ["compiled"], done.stderr
