"""Raw values and runs as rows."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from campaign_files import a_campaign_folder
from equipoise_operator import cli, export
from equipoise_operator.export_form import Format, Rows
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger
from ledger_builders import whole_campaign


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_campaign_folder(tmp_path / "campaign", whole_campaign())


@pytest.fixture
def data(folder: Path) -> ReportData:
    with open_ledger(folder / "ledger.sqlite3", read_only=True) as ledger:
        return gather(ledger)


def test_every_timed_call_of_every_record_is_a_row(data: ReportData) -> None:
    rows = list(export.table(data, Rows.VALUES))
    expected = [
        nanoseconds
        for admitted in data.records
        for run in admitted.record.runs
        for outcome in run.shapes
        for nanoseconds in outcome.outside_nanoseconds
    ]
    assert [row["outside_nanoseconds"] for row in rows] == expected
    assert len(rows) > 1_000
    assert all(set(row) == set(export.columns(Rows.VALUES)) for row in rows)


def test_every_run_is_a_row_with_its_circumstances(data: ReportData) -> None:
    rows = list(export.table(data, Rows.RUNS))
    assert len(rows) == sum(len(admitted.record.runs) for admitted in data.records)
    assert all(set(row) == set(export.columns(Rows.RUNS)) for row in rows)
    assert {row["status"] for row in rows} == {"Completed"}


def test_csv_and_json_lines_hold_the_same(data: ReportData) -> None:
    names = list(export.columns(Rows.RUNS))
    as_csv, as_lines = io.StringIO(), io.StringIO()
    export.write_text(as_csv, export.table(data, Rows.RUNS), names=names, form=Format.CSV)
    export.write_text(as_lines, export.table(data, Rows.RUNS), names=names, form=Format.JSONL)
    from_csv = list(csv.DictReader(io.StringIO(as_csv.getvalue())))
    from_lines = [json.loads(line) for line in as_lines.getvalue().splitlines()]
    assert from_csv == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in from_lines
    ]


def test_parquet_holds_the_same_with_its_types(
    folder: Path, data: ReportData, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "values.parquet"
    assert cli.main(["export", str(folder), "--format", "parquet", "-o", str(file)]) == 0
    table = parquet.read_table(file)
    assert table.to_pylist() == list(export.table(data, Rows.VALUES))
    assert str(table.schema.field("outside_nanoseconds").type) == "int64"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_parquet_needs_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", str(folder), "--format", "parquet"]) == 2
    assert "name a file with -o" in capsys.readouterr().err


def test_rows_go_to_standard_output_and_nothing_else_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(folder), "--rows", "runs"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert rows[0]["comparison"] == "gelu"
