"""The main tasks in one minute: ALARM queried and explained, then learned from rows. Run with `make demo`."""

from time import perf_counter

from rich.console import Console
from rich.table import Table

import sepset as ss

console = Console()


def heading(text: str, started: float) -> None:
    console.print(f"\n[bold]{text}[/bold]  [dim]({1000 * (perf_counter() - started):.0f} ms)[/dim]")


def diagnose(alarm: ss.BayesNet, findings: dict[str, str]) -> None:
    start = perf_counter()
    prior, posterior = ss.marginals(alarm), ss.marginals(alarm, given=findings)
    table = Table("cause", "before", "after", "")
    for cause in ("HYPOVOLEMIA", "LVFAILURE", "ANAPHYLAXIS", "INSUFFANESTH", "PULMEMBOLUS", "KINKEDTUBE", "DISCONNECT"):
        before, after = prior[cause]["TRUE"], posterior[cause]["TRUE"]
        table.add_row(cause, f"{before:.1%}", f"{after:.1%}", "█" * round(30 * after))
    heading("A patient: heart rate high, blood pressure low, low CO2. What is wrong?", start)
    console.print(table)


def explain(alarm: ss.BayesNet, findings: dict[str, str]) -> None:
    start = perf_counter()
    best = ss.map_assignment(alarm, given=findings)
    heading("The most probable explanation of all unobserved variables", start)
    unusual = {name: state for name, state in best.assignment.items() if state not in ("NORMAL", "FALSE")}
    console.print(
        f"probability {best.probability:.2%} ({best.guarantees['assignment'].value}); all but NORMAL and FALSE:"
    )
    console.print(", ".join(f"{name}={state}" for name, state in unusual.items()))


def plan(alarm: ss.BayesNet, findings: dict[str, str]) -> None:
    start = perf_counter()
    found = ss.plan(alarm, "HYPOVOLEMIA", given=findings)
    heading("The cost of the question, known before it is asked", start)
    console.print(str(found), highlight=False)


def sample(alarm: ss.BayesNet, findings: dict[str, str]) -> None:
    start = perf_counter()
    patients = ss.sample(alarm, 10_000, given=findings, seed=1)
    heading("Ten thousand patients like this one, drawn exactly from the posterior", start)
    console.print(patients.select(["HYPOVOLEMIA", "LVFAILURE", "CO", "HR", "BP", "EXPCO2"]).head())


def learn(alarm: ss.BayesNet, findings: dict[str, str]) -> None:
    start = perf_counter()
    rows = ss.sample(alarm, 5_000, seed=2)
    incomplete = ss.missing.hide_cells(rows, ss.missing.MCAR(0.1), seed=3)
    prior = ss.BDeu(10)
    complete = ss.fit(alarm.dag, rows, ss.Bayes(prior))
    em = ss.fit(alarm.dag, incomplete, ss.EM(prior))
    heading("The same question, asked of networks learned from 5,000 rows", start)
    table = Table("parameters", "P(HYPOVOLEMIA)", "divergence from the truth")
    models = {"true": alarm, "from complete rows": complete.model, "10% of cells missing, by EM": em.model}
    for name, model in models.items():
        answer = ss.query(model, "HYPOVOLEMIA", given=findings)["TRUE"]
        table.add_row(name, f"{answer:.1%}", f"{ss.evaluation.divergence(alarm, model).total:.3f} nats")
    console.print(table)
    assert complete.posterior is not None
    low, high = complete.posterior.interval("HYPOVOLEMIA", "TRUE")
    console.print(f"EM {em.status.value} after {em.num_iterations} steps, each over every row; none was dropped.")
    console.print(f"P(HYPOVOLEMIA) before any finding: between {low:.1%} and {high:.1%} with probability 95%.")


def learn_structure(alarm: ss.BayesNet) -> None:
    start = perf_counter()
    rows = ss.sample(alarm, 5_000, seed=4)
    found = ss.learn_structure(rows, score=ss.BDeu(1))
    heading("The structure itself, learned from 5,000 rows", start)
    recovered = ss.structure.compare(alarm.dag, found.dag)
    true = ss.structure.score(alarm.dag, rows, score=ss.BDeu(1)).total
    console.print(found)
    console.print(f"score {found.score:.1f}; the true graph has {true:.1f}")
    console.print(f"{recovered.skeleton.right} of 46 adjacencies found, {recovered.skeleton.extra} are not there")


def student() -> None:
    start = perf_counter()
    network = ss.datasets.load("student")
    bright = [
        ss.query(network, "intelligence", given=given)["high"]
        for given in ({}, {"grade": "C"}, {"grade": "C", "sat": "high"})
    ]
    heading("A student: how likely is high intelligence?", start)
    before, graded, scored = bright
    console.print(f"before {before:.3f}, after a C in class {graded:.3f}, and with a high SAT score {scored:.3f}")
    trail = ss.graphs.active_trail(network.dag, "difficulty", "sat", given="letter")
    console.print(f"difficulty and SAT are dependent once the letter is known: {trail}", highlight=False)


def main() -> None:
    start = perf_counter()
    alarm = ss.datasets.load("alarm")
    heading(f"{alarm}", start)
    findings = {"HR": "HIGH", "BP": "LOW", "EXPCO2": "LOW"}
    diagnose(alarm, findings)
    explain(alarm, findings)
    plan(alarm, findings)
    sample(alarm, findings)
    learn(alarm, findings)
    learn_structure(alarm)
    student()
    console.print("\nNext: `sepset query alarm --target HYPOVOLEMIA --given HR=HIGH`, docs/learning.md, or README.md.")


if __name__ == "__main__":
    main()
