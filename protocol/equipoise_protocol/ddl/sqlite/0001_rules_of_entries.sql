-- Rules of every entry: the chain, the form, no change afterwards (R31, R32, R33, R34).

CREATE TRIGGER entries_follow_the_head BEFORE INSERT ON entries
BEGIN
  SELECT RAISE(ABORT, 'R33: the entry does not follow the last one; expected the next number, and the last entry''s hash as the previous one; append through the ledger, which reads its head first')
  WHERE NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
  OR NEW.previous IS NOT coalesce(
    (SELECT hash FROM entries ORDER BY seq DESC LIMIT 1),
    'sha256:0000000000000000000000000000000000000000000000000000000000000000'
  );
END;

CREATE TRIGGER entries_have_their_form BEFORE INSERT ON entries
BEGIN
  SELECT RAISE(ABORT, 'R31: the entry has no form that the ledger knows; expected one of its kinds, digests of 64 hexadecimal digits, a time in UTC, and a canonical JSON body of version 1 with the fields of its kind; write it through the ledger')
  WHERE NEW.kind NOT IN (
    'Registration', 'Plan', 'Record', 'Rejection', 'Verdict', 'Portability', 'SecretReveal'
  )
  OR NEW.appended_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]*Z'
  OR EXISTS (
    SELECT 1
    FROM (SELECT NEW.digest AS given UNION ALL SELECT NEW.hash)
    WHERE length(given) <> 71
    OR substr(given, 1, 7) <> 'sha256:'
    OR substr(given, 8) GLOB '*[^0-9a-f]*'
  )
  OR json_type(NEW.body) IS NOT 'object'
  OR json(NEW.body) IS NOT NEW.body
  OR json_extract(NEW.body, '$.version') IS NOT 1
  OR (NEW.kind = 'Record' AND json_extract(NEW.body, '$.record.version') IS NOT 1)
  OR EXISTS (
    SELECT 1
    FROM forms AS f
    WHERE f.kind = NEW.kind
    AND json_type(NEW.body, f.path) IS NOT f.type
  );
END;

CREATE TRIGGER entries_name_each_field_once BEFORE INSERT ON entries
BEGIN
  SELECT RAISE(ABORT, 'R31: an object in the body names a field twice; expected canonical JSON, which readers can''t read in two ways; write it through the ledger')
  WHERE EXISTS (
    SELECT 1
    FROM json_tree(NEW.body) AS t
    WHERE typeof(t.key) = 'text'
    GROUP BY t.parent, t.key
    HAVING count(*) > 1
  );
END;

CREATE TRIGGER entries_are_new BEFORE INSERT ON entries
BEGIN
  SELECT RAISE(ABORT, 'R34: an entry with this content is in the ledger already; expected each content once; nothing has to be done')
  WHERE EXISTS (SELECT 1 FROM entries AS e WHERE e.digest = NEW.digest);
END;

CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
BEGIN
  SELECT RAISE(ABORT, 'R32: an entry was to be changed; expected the ledger to grow only; append a new entry that refers to the old one');
END;

CREATE TRIGGER entries_never_leave BEFORE DELETE ON entries
BEGIN
  SELECT RAISE(ABORT, 'R32: an entry was to be removed; expected the ledger to grow only; append a new entry that refers to the old one');
END;

CREATE TRIGGER protocols_are_new BEFORE INSERT ON protocols
BEGIN
  SELECT RAISE(ABORT, 'R03: the protocol is known already or has no digest of 64 hexadecimal digits; expected each protocol once; open the ledger with equipoise, which adds its own')
  WHERE EXISTS (SELECT 1 FROM protocols AS p WHERE p.digest = NEW.digest)
  OR length(NEW.digest) IS NOT 71
  OR substr(NEW.digest, 1, 7) <> 'sha256:'
  OR substr(NEW.digest, 8) GLOB '*[^0-9a-f]*';
END;

CREATE TRIGGER protocols_never_change BEFORE UPDATE ON protocols
BEGIN
  SELECT RAISE(ABORT, 'R32: a known protocol was to be changed; expected the list to grow only; a changed protocol is a new version with a digest of its own');
END;

CREATE TRIGGER protocols_never_leave BEFORE DELETE ON protocols
BEGIN
  SELECT RAISE(ABORT, 'R32: a known protocol was to be removed; expected the list to grow only; campaigns registered under it still need it');
END;
