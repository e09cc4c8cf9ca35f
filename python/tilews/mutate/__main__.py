"""The ``tilews-mutate`` command."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping

import click

from .. import ir
from .._command_line import Command, OutputFile, refuse_ignored
from .._support import files
from ..compiler import parse_file
from ..errors import CompileError
from . import _campaign, _report
from ._judge import Judge, Subject, Verdict, judge_all
from ._mutants import mutant, mutants
from ._random_mutants import RandomMutants
from ._tally import OUTCOMES


def load_corpus(path: pathlib.Path) -> list[Subject]:
    """The list ``SUBJECTS`` of a Python file.

    Raises:
        click.ClickException: the file has no such list, or cannot be imported.
    """
    folder, name = path.absolute().parent, path.stem
    while (folder / "__init__.py").exists():  # The file belongs to a package.
        folder, name = folder.parent, f"{folder.name}.{name}"
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.ClickException(f"cannot read {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise click.ClickException(f"cannot import {path}: {what}") from None
    subjects = getattr(module, "SUBJECTS", None)
    if not subjects or not all(isinstance(each, Subject) for each in subjects):
        raise click.ClickException(
            f"{path} has no list SUBJECTS of tilews.mutate.Subject, as "
            "test/python/kernels/mutation_corpus.py has"
        )
    return subjects


def _work(path: pathlib.Path, kernel: str, form: str) -> list[Verdict]:
    subject = next(each for each in load_corpus(path) if str(each) == kernel)
    return list(judge_all(subject, form))


def run(
    path: pathlib.Path, chosen: list[tuple[str, str]], jobs: int
) -> Iterator[tuple[tuple[str, str], list[Verdict]]]:
    """Verdicts by kernel and form, in the order in which they are ready.

    Args:
        path: the file with the corpus.
        chosen: the kernels and forms.
        jobs: the number of processes.
    """
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        work = {pool.submit(_work, path, *key): key for key in chosen}
        for done in concurrent.futures.as_completed(work):
            yield work[done], done.result()


def _show(verdict: Verdict) -> str:
    found = {
        "equivalent": verdict.equivalent,
        "verifier": verdict.verifier,
        "simulator": verdict.simulator,
    }
    lines = [f"{verdict.id}: {verdict.outcome}", f"  {verdict.place}"]
    return "\n".join(lines + [f"  {k}: {v}" for k, v in found.items() if v])


def _of_file(path: pathlib.Path, emit: str | None) -> None:
    """Lists the mutants of a module, or prints one."""
    context = ir.Context()
    with context:
        try:
            module = parse_file(path, context)
        except (CompileError, OSError) as error:
            raise click.ClickException(str(error)) from None
        if emit:
            click.echo(mutant(module, emit).module)
            return
        found = list(mutants(module))
    for each in found:
        click.echo(f"{each.id}: {each.place}")
    if not found:
        raise click.ClickException(
            f"{path} has no synchronization to break: expected a kernel with channels "
            "or barriers, as the compiler schedules it"
        )


@click.command(cls=Command)
@click.argument(
    "source", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path)
)
@click.option("--kernel", help="Only this kernel, such as 'gemm sm_90a'.")
@click.option(
    "--form", type=click.Choice(["channels", "barriers"]), help="Only this form."
)
@click.option("--emit", metavar="ID", help="Print a mutant.")
@click.option("--judge", metavar="ID", help="Print what is found in a mutant.")
@click.option("--missed", is_flag=True, help="List the mutants that are not found.")
@click.option("--table", type=OutputFile(), help="Write the table to a page.")
@click.option(
    "--random", is_flag=True, help="Mutants with several edits; ID is an index."
)
@click.option(
    "--count",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Random mutants to judge, after those of the state.",
)
@click.option(
    "--first",
    type=click.IntRange(min=0),
    default=0,
    help="The index of the first of them, if there is no state yet.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default="build/random-mutation.json",
    show_default=True,
    help="What was found of random mutants so far.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count(),
    show_default=True,
    help="Processes.",
)
def main(
    source: pathlib.Path,
    kernel: str | None,
    form: str | None,
    emit: str | None,
    judge: str | None,
    missed: bool,
    table: pathlib.Path | None,
    random: bool,
    count: int,
    first: int,
    state: pathlib.Path,
    jobs: int,
) -> None:
    """Break the synchronization of kernels, and check that the faults are found.

    SOURCE is a Python file with a list SUBJECTS of tilews.mutate.Subject, or an .mlir
    file with a scheduled kernel, whose mutants are listed. Fails if the simulator finds
    a fault in a mutant that a rule calls equivalent.

    \b
    tilews-mutate test/python/kernels/mutation_corpus.py --table docs/mutation.md
    tilews-mutate scheduled.mlir --emit drop:wait-16.0
    tilews-mutate test/python/kernels/mutation/mutation_seeds.py --random --count 10000
    """
    _check_options(source, emit, judge, random)
    try:
        if random and (emit or judge):
            _one_random(source, emit, judge)
            return
        if random:
            _judge_random(source, first, count, state, table, jobs)
            return
        if source.suffix == ".mlir":
            _of_file(source, emit)
            return
        found = _choose(source, kernel, form)
        if emit or judge:
            _one(found, emit, judge)
            return
        results = _judge_all(source, list(found), jobs, missed)
    except CompileError as error:
        raise click.ClickException(str(error)) from None
    for key, text in _report.false_alarms(results).items():
        click.echo(f"false alarm: {' '.join(key)}: {text}")
    if refuted := _report.refuted(results):
        page = f"; {table} was not written" if table else ""
        raise click.ClickException("\n".join(refuted) + page)
    if table:
        last = _report.get_random(table.read_text()) if table.exists() else ""
        files.write(table, _report.with_random(_report.render(results), last))
    verifier, either = map(_report.percent, _report.scores(results))
    click.echo(f"found: {either} %, verifier {verifier} %")


def _check_options(
    source: pathlib.Path, emit: str | None, judge: str | None, random: bool
) -> None:
    """Refuses other kinds of files, and options without an effect."""
    if source.suffix not in (".mlir", ".py"):
        raise click.UsageError(
            f"expected an .mlir file or a .py file with subjects, found '{source}'"
        )
    if source.suffix == ".mlir":
        names = ("kernel", "form", "judge", "missed", "table", "random", "jobs")
        reason = "needs launches: give a .py file with subjects"
        refuse_ignored(dict.fromkeys(names, reason))
    if emit or judge:
        one = "emit" if emit else "judge"
        others = {"emit", "judge"} - {one}
        others |= {"missed", "table", "count", "first", "state", "jobs"}
        refuse_ignored(dict.fromkeys(others, f"does not go with --{one}"))
    if random:
        single = ("kernel", "form", "missed")
        refuse_ignored(dict.fromkeys(single, "does not go with --random"))
    else:
        refuse_ignored(dict.fromkeys(("count", "first", "state"), "needs --random"))


def _choose(
    source: pathlib.Path, kernel: str | None, form: str | None
) -> dict[tuple[str, str], tuple[Subject, ir.Module]]:
    """The kernels and forms that the options mean; at least one."""
    found = {
        (str(subject), name): (subject, module)
        for subject in load_corpus(source)
        if kernel in (None, str(subject))
        for name, module in subject.forms().items()
        if form in (None, name)
    }
    if not found:
        known = ", ".join(f"'{each}'" for each in load_corpus(source))
        raise click.UsageError(
            f"{source} has no kernel '{kernel or ''}' with this form, only: {known}"
        )
    return found


def _judge_all(
    source: pathlib.Path, chosen: list[tuple[str, str]], jobs: int, missed: bool
) -> _report.Results:
    """Verdicts on all mutants, in the order of `chosen`; prints a line for each."""
    results = {}
    for key, verdicts in run(source, chosen, jobs):
        results[key] = verdicts
        lost = [each for each in verdicts[1:] if each.outcome == "missed"]
        click.echo(f"{' '.join(key)}: {len(verdicts) - 1} mutants, {len(lost)} missed")
        if missed:
            for each in lost:
                click.echo(_show(each))
    return {key: results[key] for key in chosen}


def _one(
    found: Mapping[tuple[str, str], tuple[Subject, ir.Module]],
    emit: str | None,
    judge: str | None,
) -> None:
    """Prints a mutant of the only kernel and form, or what is found in it."""
    if len(found) != 1:
        names = ", ".join(f"'{kernel}' {form}" for kernel, form in found)
        raise click.UsageError(f"choose with --kernel and --form one of: {names}")
    subject, module = next(iter(found.values()))
    one = mutant(module, emit or judge or "")
    if emit:
        click.echo(one.module)
    else:
        click.echo(_show(Judge(subject).judge(one)))


def _one_random(source: pathlib.Path, emit: str | None, judge: str | None) -> None:
    """Prints the random mutant with an index, or what is found in it."""
    index = emit or judge or ""
    if not index.isdecimal():
        raise click.UsageError(
            f"expected the index of a random mutant, found '{index}'"
        )
    mutants = RandomMutants(load_corpus(source))
    chosen = mutants.draw(int(index))
    if emit:
        click.echo(chosen.edits[-1].module)
        return
    verdict, outcome, reason = mutants.explain(chosen)
    click.echo(f"{chosen.subject} {chosen.form}")
    click.echo(_show(verdict))
    click.echo(f"  {outcome}: {OUTCOMES[outcome]}")
    if reason:
        click.echo(f"  {reason}")


def _judge_random(
    source: pathlib.Path,
    first: int,
    count: int,
    state: pathlib.Path,
    table: pathlib.Path | None,
    jobs: int,
) -> None:
    """Judges the next random mutants. Fails if a tool shows a defect."""
    tally = _campaign.run(load_corpus(source), state, count, jobs, first)
    click.echo(tally.report())
    if table:
        page = table.read_text() if table.exists() else ""
        files.write(table, _report.with_random(page, _report.render_random(tally)))
    if tally.defects:
        raise click.ClickException("\n".join(tally.defects))


if __name__ == "__main__":
    main(prog_name="tilews-mutate")
