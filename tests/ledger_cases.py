"""Every case that a ledger's database must refuse beyond the corpus, in one list.

The corpus (`corpus_cases`) changes one honest object at a time. The cases here also need a certain
ledger to be wrong in: another attempt, a final verdict, a published secret, a second node class.
Every rule of the database has at least one, so that a trigger that is dropped is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import ledger_cases_of_entries
import ledger_cases_of_plans
import ledger_cases_of_records
import ledger_cases_of_verdicts
from ledger_case import LedgerCase


@cache
def cases() -> tuple[LedgerCase, ...]:
    """Every case."""
    return tuple(_cases())


def _cases() -> Iterator[LedgerCase]:
    yield from ledger_cases_of_entries.of_entries()
    yield from ledger_cases_of_entries.of_protocols()
    yield from ledger_cases_of_plans.of_registrations()
    yield from ledger_cases_of_plans.of_plans()
    yield from ledger_cases_of_records.of_records()
    yield from ledger_cases_of_records.of_measurements()
    yield from ledger_cases_of_verdicts.of_verdicts()
    yield from ledger_cases_of_verdicts.of_endings()
