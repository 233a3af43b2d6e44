-- The ledger on SQLite, version 1: one table of entries, and the rules that the database itself refuses by.
--
-- Run once by the migrations (equipoise_operator.stores.sqlite.migrations), read again by `equipoise verify`.
-- Every statement ends with a semicolon at the end of a line.
--
-- How it is built, and why (protocol/decisions/0010-embedded-ledger.md says more):
--
-- * A fact stands once. An entry's body is canonical JSON, and the columns that rules look things up by are
--   generated from it by the database; nobody can write a column that differs from its body. Everything that
--   reads like a table (registrations, planned_blocks, records, runs, run_values, verdicts, ...) is a view.
--   So `entries` is the only way in (R31).
-- * Every rule is a BEFORE INSERT trigger that aborts. The sqlite3 program can switch foreign keys and CHECK
--   constraints off, and REPLACE removes rows without firing delete triggers: so there is no foreign key and
--   no CHECK, existence and duplicates are refused by triggers too, and the only unique key is `seq`, which
--   has to be the next number.
-- * A message says what happened; what was expected; what to do. It begins with the rule's number.
-- * A trigger is silent where another one speaks: what is compared with a plan says nothing where there is
--   no plan. So each of them can be shown to be necessary.
--
-- What a database of this kind can't refuse: digests and authentications (it computes no SHA-256), statistics,
-- and a person who drops a trigger or switches triggers off. `equipoise verify` finds those: it replays the
-- entries into an empty ledger, compares the schema with this file, and recomputes the rest.

CREATE TABLE protocols (
  digest TEXT NOT NULL PRIMARY KEY,
  version TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  appended_at TEXT NOT NULL,
  digest TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  about TEXT GENERATED ALWAYS AS (
    CASE kind
      WHEN 'Registration' THEN json_object('registrationDigest', digest)
      WHEN 'Plan' THEN json_extract(body, '$.identity')
      WHEN 'Record' THEN json_extract(body, '$.record.identity')
      WHEN 'Rejection' THEN json_extract(body, '$.claimed')
      ELSE body
    END
  ) VIRTUAL,
  registration TEXT GENERATED ALWAYS AS (json_extract(about, '$.registrationDigest')) STORED,
  comparison TEXT GENERATED ALWAYS AS (json_extract(about, '$.comparison')) STORED,
  node_class TEXT GENERATED ALWAYS AS (json_extract(about, '$.nodeClass')) STORED,
  block INTEGER GENERATED ALWAYS AS (json_extract(about, '$.block')) STORED,
  attempt INTEGER GENERATED ALWAYS AS (json_extract(about, '$.attempt')) STORED,
  phase TEXT GENERATED ALWAYS AS (json_extract(about, '$.phase')) STORED,
  nonce TEXT GENERATED ALWAYS AS (json_extract(about, '$.nonce')) STORED,
  seed_digest TEXT GENERATED ALWAYS AS (
    CASE kind
      WHEN 'Plan' THEN json_extract(body, '$.seedDigest')
      WHEN 'Record' THEN json_extract(body, '$.record.seedDigest')
    END
  ) STORED,
  record TEXT GENERATED ALWAYS AS (
    CASE kind
      WHEN 'Record' THEN json_extract(body, '$.digest')
      WHEN 'Rejection' THEN json_extract(body, '$.objectDigest')
    END
  ) STORED,
  look INTEGER GENERATED ALWAYS AS (CASE kind WHEN 'Verdict' THEN json_extract(body, '$.look') END) STORED,
  outcome TEXT GENERATED ALWAYS AS (
    CASE kind
      WHEN 'Record' THEN json_extract(body, '$.validity')
      WHEN 'Rejection' THEN json_extract(body, '$.ending')
      WHEN 'Verdict' THEN json_extract(body, '$.verdict')
      WHEN 'Portability' THEN json_extract(body, '$.verdict')
    END
  ) STORED,
  body TEXT NOT NULL
) STRICT;

-- None of these is unique: a unique index is what REPLACE would delete a row for.
CREATE INDEX entries_by_digest ON entries (digest);

CREATE INDEX entries_by_block
ON entries (kind, registration, comparison, node_class, block, attempt, phase, outcome);

CREATE INDEX entries_by_nonce ON entries (nonce) WHERE nonce IS NOT NULL;

CREATE INDEX entries_by_seed ON entries (seed_digest) WHERE seed_digest IS NOT NULL;

CREATE INDEX entries_by_record ON entries (record) WHERE record IS NOT NULL;
