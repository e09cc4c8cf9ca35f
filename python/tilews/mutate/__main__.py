"""The ``tilews-mutate`` command."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator

import click

from .. import ir
from ..errors import CompileError
from . import _report
from ._judge import Judge, Subject, Verdict, judge_all
from ._mutants import mutant, mutants


def load_corpus(path: pathlib.Path) -> list[Subject]:
    """The list ``SUBJECTS`` of a Python file."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "SUBJECTS"):
        raise click.ClickException(f"{path} has no list SUBJECTS of tilews.mutate")
    return module.SUBJECTS


def _name(subject: Subject) -> str:
    return f"{subject.name} {subject.target}"


def _work(path: pathlib.Path, kernel: str, form: str) -> list[Verdict]:
    subject = next(each for each in load_corpus(path) if _name(each) == kernel)
    return list(judge_all(subject, form))


def run(
    path: pathlib.Path, chosen: list[tuple[str, str]], jobs: int
) -> Iterator[tuple[tuple[str, str], list[Verdict]]]:
    """Verdicts by kernel and form, as they are ready.

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
    with ir.Context():
        try:
            module = ir.Module.parse(path.read_text())
        except ir.MLIRError as error:
            raise click.ClickException(str(error)) from None
        if emit:
            click.echo(mutant(module, emit).module)
        else:
            for each in mutants(module):
                click.echo(f"{each.id}: {each.place}")


@click.command()
@click.argument("source", type=click.Path(exists=True, path_type=pathlib.Path))
@click.option("--kernel", help="Only this kernel, such as 'gemm sm_90a'.")
@click.option("--form", help="Only this form: channels or barriers.")
@click.option("--emit", metavar="ID", help="Print a mutant.")
@click.option("--judge", metavar="ID", help="Say what is found of a mutant.")
@click.option("--missed", is_flag=True, help="List the mutants that nothing finds.")
@click.option(
    "--table",
    type=click.Path(path_type=pathlib.Path),
    help="Write the table to a page.",
)
@click.option("--jobs", default=os.cpu_count(), show_default=True, help="Processes.")
def main(
    source: pathlib.Path,
    kernel: str | None,
    form: str | None,
    emit: str | None,
    judge: str | None,
    missed: bool,
    table: pathlib.Path | None,
    jobs: int,
) -> None:
    """Break the synchronization of kernels and see what notices.

    SOURCE is a Python file with a list SUBJECTS of tilews.mutate.Subject, or an .mlir
    file with a scheduled kernel, whose mutants are listed.

    \b
    tilews-mutate test/python/mutation_corpus.py --table docs/mutation.md
    tilews-mutate scheduled.mlir --emit drop:wait-16.0
    """
    try:
        if source.suffix == ".mlir":
            _of_file(source, emit)
            return
        found = {
            (_name(subject), name): (subject, module)
            for subject in load_corpus(source)
            if kernel in (None, _name(subject))
            for name, module in subject.forms().items()
            if form in (None, name)
        }
        if not found:
            raise click.ClickException(f"{source} has no such kernel or form")
        if emit or judge:
            _one(found, emit, judge)
            return
    except CompileError as error:
        raise click.ClickException(str(error)) from None
    results = {}
    for key, verdicts in run(source, list(found), jobs):
        results[key] = verdicts
        lost = [each for each in verdicts[1:] if each.outcome == "missed"]
        click.echo(f"{' '.join(key)}: {len(verdicts) - 1} mutants, {len(lost)} missed")
        if missed:
            for each in lost:
                click.echo(_show(each))
    results = {key: results[key] for key in found}
    for key, text in _report.false_alarms(results).items():
        click.echo(f"false alarm: {' '.join(key)}: {text}")
    if table:
        table.write_text(_report.render(results))
    verifier, either = _report.scores(results)
    click.echo(f"found: {100 * either:.1f} %, verifier {100 * verifier:.1f} %")


def _one(found: dict, emit: str | None, judge: str | None) -> None:
    if len(found) != 1:
        names = ", ".join(f"'{kernel}' {form}" for kernel, form in found)
        raise click.ClickException(f"choose with --kernel and --form one of: {names}")
    subject, module = next(iter(found.values()))
    one = mutant(module, emit or judge)
    if emit:
        click.echo(one.module)
    else:
        click.echo(_show(Judge(subject).judge(one)))


if __name__ == "__main__":
    main(prog_name="tilews-mutate")
