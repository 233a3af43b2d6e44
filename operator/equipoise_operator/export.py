"""A campaign's raw values and runs as rows, and the writers of their formats.

Called by `equipoise export`. Rows are pure; nothing is left out and nothing averaged, so that
anybody can judge anew with their own tools.
"""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from equipoise_operator.errors import MissingExtraError
from equipoise_operator.export_form import Format, Rows
from equipoise_operator.report.data import ReportData
from equipoise_protocol.block import RunRecord
from equipoise_protocol.ledger.bodies import AdmittedRecord

Row = dict[str, str | int | bool | None]

PARQUET_BATCH = 20_000
"""Rows held in memory at once."""


VALUE_COLUMNS: dict[str, type] = {
    "registration": str,
    "campaign": str,
    "comparison": str,
    "node_class": str,
    "block": int,
    "attempt": int,
    "phase": str,
    "validity": str,
    "record": str,
    "position": int,
    "arm": str,
    "shape": str,
    "call": int,
    "outside_nanoseconds": int,
    "inside_nanoseconds": int,
}
RUN_COLUMNS: dict[str, type] = {
    **dict(list(VALUE_COLUMNS.items())[:11]),
    "status": str,
    "message": str,
    "values": int,
    "start_nanoseconds": int,
    "whole_nanoseconds": int,
    "timed_wall_nanoseconds": int,
    "cpu_nanoseconds": int,
    "wait_nanoseconds": int,
    "foreign_nanoseconds": int,
    "steal_nanoseconds": int,
    "throttled_nanoseconds": int,
    "started_at": str,
    "host": str,
    "cpu_model": str,
    "separation": str,
}


def columns(rows: Rows) -> dict[str, type]:
    """Names and types of the columns."""
    return VALUE_COLUMNS if rows is Rows.VALUES else RUN_COLUMNS


def table(data: ReportData, rows: Rows) -> Iterator[Row]:
    """The rows of a campaign, in ledger order. Pure."""
    for admitted in data.records:
        for run in admitted.record.runs:
            about = _about(data, admitted, run)
            if rows is Rows.RUNS:
                yield {**about, **_run(admitted, run)}
            else:
                yield from _values(about, run)


def write_text(file: TextIO, rows: Iterable[Row], *, names: list[str], form: Format) -> None:
    """Writes rows as CSV with a head line, or as one JSON object a line."""
    if form is Format.JSONL:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    writer = csv.DictWriter(file, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def write_parquet(path: Path, rows: Iterable[Row], *, types: dict[str, type]) -> None:
    """Writes rows as one Parquet file.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    schema = arrow.schema(
        [(name, arrow.int64() if kind is int else arrow.string()) for name, kind in types.items()]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            if len(batch) == PARQUET_BATCH:
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
                batch = []
        writer.write_table(arrow.Table.from_pylist(batch, schema=schema))


def require_parquet() -> None:
    """Sees to it that Parquet can be written, before anything is read.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    # Imported here: an optional extra, and a heavy one.
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs pyarrow, which isn't installed: pip install 'equipoise[parquet]'"
        ) from error


def _about(data: ReportData, admitted: AdmittedRecord, run: RunRecord) -> Row:
    identity = admitted.record.identity
    return {
        "registration": data.registration_digest,
        "campaign": identity.campaign,
        "comparison": identity.comparison,
        "node_class": identity.node_class,
        "block": identity.block,
        "attempt": identity.attempt,
        "phase": identity.phase.value,
        "validity": admitted.validity.value,
        "record": admitted.digest,
        "position": run.position,
        "arm": run.arm,
    }


def _values(about: Row, run: RunRecord) -> Iterator[Row]:
    for outcome in run.shapes:
        shape = "x".join(str(length) for length in outcome.shape)
        inside = outcome.inside_nanoseconds
        for call, outside in enumerate(outcome.outside_nanoseconds):
            yield {
                **about,
                "shape": shape,
                "call": call,
                "outside_nanoseconds": outside,
                "inside_nanoseconds": inside[call] if call < len(inside) else None,
            }


def _run(admitted: AdmittedRecord, run: RunRecord) -> Row:
    contention, provenance = run.contention, admitted.record.provenance
    return {
        "status": run.status.value,
        "message": run.message,
        "values": sum(len(outcome.outside_nanoseconds) for outcome in run.shapes),
        "start_nanoseconds": run.start_nanoseconds,
        "whole_nanoseconds": run.whole_nanoseconds,
        "timed_wall_nanoseconds": contention.wall_nanoseconds if contention else None,
        "cpu_nanoseconds": contention.cpu_nanoseconds if contention else None,
        "wait_nanoseconds": contention.wait_nanoseconds if contention else None,
        "foreign_nanoseconds": contention.foreign_nanoseconds if contention else None,
        "steal_nanoseconds": contention.steal_nanoseconds if contention else None,
        "throttled_nanoseconds": contention.throttled_nanoseconds if contention else None,
        "started_at": admitted.record.started_at,
        "host": provenance.machine.host,
        "cpu_model": provenance.machine.cpu_model,
        "separation": provenance.separation.value,
    }
