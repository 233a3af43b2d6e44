-- Rules of block records: what may be admitted (R01, R03, R06 to R13, R17 to R19, R31, R34).
--
-- Two kinds. Some bind a record to its plan; nothing heals a breach of them. Others look at what was measured
-- and accept a breach only beside a finding that names it: the database doesn't judge, it refuses silence.

CREATE TRIGGER record_is_of_a_registration BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R01: the record''s registration is not in the ledger; expected it before the first record; register the campaign and measure again')
  WHERE NOT EXISTS (SELECT 1 FROM registrations AS g WHERE g.registration = NEW.registration);
END;

CREATE TRIGGER record_is_under_its_protocol BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R03: the record carries another protocol digest than its registration; expected the one that it was registered under; measure with that version')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND g.protocol_digest IS NOT json_extract(NEW.body, '$.record.identity.protocolDigest');
END;

CREATE TRIGGER record_answers_a_plan BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: this attempt at this block was never planned; expected a planned one; discard the record and let the block be planned')
  WHERE EXISTS (SELECT 1 FROM registrations AS g WHERE g.registration = NEW.registration)
  AND NOT EXISTS (
    SELECT 1
    FROM planned_blocks AS p
    WHERE p.registration = NEW.registration
    AND p.comparison = NEW.comparison
    AND p.node_class = NEW.node_class
    AND p.block = NEW.block
    AND p.attempt = NEW.attempt
  );
END;

CREATE TRIGGER record_bears_its_plans_nonce BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: the record bears another nonce, phase or campaign than its planned block; expected the planned ones, so it is foreign or replayed; discard it and let the block run again')
  FROM entries AS p
  WHERE p.kind = 'Plan'
  AND p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt
  AND (
    p.nonce IS NOT NEW.nonce
    OR p.phase IS NOT NEW.phase
    OR json_extract(p.body, '$.identity.campaign') IS NOT json_extract(NEW.body, '$.record.identity.campaign')
  );
END;

CREATE TRIGGER record_is_the_only_one_of_its_attempt BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: this attempt has a record already; expected one record for each attempt, so it is a duplicate or was tampered with; discard it')
  FROM records AS d
  WHERE d.registration = NEW.registration
  AND d.comparison = NEW.comparison
  AND d.node_class = NEW.node_class
  AND d.block = NEW.block
  AND d.attempt = NEW.attempt;
END;

CREATE TRIGGER record_comes_before_a_later_attempt BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: a later attempt at this block is planned; expected no record of an attempt that was given up, so it is late; keep it as evidence, it does not count')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt > NEW.attempt;
END;

CREATE TRIGGER record_comes_before_its_attempt_is_lost BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: this attempt is on record as lost; expected its record before that, so it is late; keep it as evidence, it does not count')
  FROM entries AS d
  WHERE d.kind = 'Rejection'
  AND d.nonce = NEW.nonce
  AND d.outcome = 'Lost';
END;

CREATE TRIGGER record_precedes_the_final_verdict BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R09: the comparison has its final verdict on this node class; expected no record after it; register a new campaign for a new question')
  FROM verdicts AS v
  WHERE v.registration = NEW.registration
  AND v.comparison = NEW.comparison
  AND v.node_class = NEW.node_class
  AND v.final;
END;

CREATE TRIGGER record_precedes_the_secret BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R08: the campaign''s secret is published; expected no record after it, since anyone can now make its key; register a new campaign')
  FROM secrets AS s
  WHERE s.registration = NEW.registration;
END;

CREATE TRIGGER record_has_the_planned_seed BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R08: the record''s seed is not the planned one; expected every arm under the seed of this attempt; run the whole block again')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt
  AND p.seed_digest IS NOT NEW.seed_digest;
END;

CREATE TRIGGER record_has_the_planned_order BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R08: the record''s order is not the planned one; expected the registered order of this attempt; run the whole block again')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt
  AND p.run_order IS NOT json_extract(NEW.body, '$.record.order');
END;

CREATE TRIGGER record_holds_every_run_in_order BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R08: a run is missing, or is not of the arm whose turn it was; expected every arm''s runs in the record''s order, unless the block was broken off; run the whole block again')
  WHERE (
    json_extract(NEW.body, '$.record.brokenOff') = ''
    AND json_array_length(NEW.body, '$.record.runs') <> json_array_length(NEW.body, '$.record.order')
  )
  OR EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.record.runs') AS r
    WHERE (
      json_extract(NEW.body, '$.record.brokenOff') = ''
      AND json_extract(r.value, '$.position') IS NOT r.key
    )
    OR json_extract(r.value, '$.arm')
    IS NOT json_extract(NEW.body, '$.record.order[' || json_extract(r.value, '$.position') || ']')
  );
END;

CREATE TRIGGER record_is_void_for_a_reason BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R10: the record''s validity is not what its findings say; expected Void beside a void finding and Valid beside none; derive it from the findings')
  WHERE NEW.outcome IS NOT CASE
    WHEN EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.findings') AS f
      WHERE json_extract(f.value, '$.severity') = 'Void'
    )
    THEN 'Void'
    ELSE 'Valid'
  END;
END;

CREATE TRIGGER record_of_a_broken_off_block_is_void BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R10: the block was broken off and counts as valid; expected it to be void with its reason; run the whole block again')
  WHERE json_extract(NEW.body, '$.record.brokenOff') <> '';
END;

CREATE TRIGGER record_was_not_refused_as_such BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R31: a finding refuses the record itself; expected a rejection in its place, since a refused record leaves no row; ingest it, which writes the rejection')
  FROM json_each(NEW.body, '$.findings') AS f
  WHERE json_extract(f.value, '$.severity') = 'Refusal'
  AND json_extract(f.value, '$.arm') = '';
END;

CREATE TRIGGER record_has_the_planned_drill BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R34: the record''s drill is not the planned one; expected the defect that was to be produced, or none; discard it and let the block run again')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt
  AND p.drill IS NOT json_extract(NEW.body, '$.record.drill');
END;

CREATE TRIGGER record_has_the_planned_environment BEFORE INSERT ON entries
WHEN NEW.kind = 'Record'
BEGIN
  SELECT RAISE(ABORT, 'R18: the record was measured in another environment than its node class''s; expected the planned threads and instruction set; run on a machine of the class')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt
  AND p.environment IS NOT json_extract(NEW.body, '$.record.environment');
END;

CREATE TRIGGER record_is_from_a_machine_of_its_class BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R18: the machine differs from the one that the class''s first valid block ran on; expected the same CPU model, last-level cache and number of CPUs; run on a machine of the class, or register another class')
  FROM entries AS d
  WHERE d.seq = (
    SELECT min(e.seq)
    FROM entries AS e
    WHERE e.kind = 'Record'
    AND e.registration = NEW.registration
    AND e.node_class = NEW.node_class
    AND e.outcome = 'Valid'
  )
  AND (
    json_extract(d.body, '$.record.provenance.machine.cpuModel')
    IS NOT json_extract(NEW.body, '$.record.provenance.machine.cpuModel')
    OR json_extract(d.body, '$.record.provenance.machine.lastLevelCacheBytes')
    IS NOT json_extract(NEW.body, '$.record.provenance.machine.lastLevelCacheBytes')
    OR json_extract(d.body, '$.record.provenance.machine.logicalCpus')
    IS NOT json_extract(NEW.body, '$.record.provenance.machine.logicalCpus')
  );
END;

-- What was measured, in valid blocks. What only an arm can have done needs a finding that refuses the arm;
-- what only the runner can have done makes a block void.

CREATE TRIGGER record_computes_as_registered BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R06: an arm ran in another precision or with other threads than registered, and no finding refuses it; expected what all arms share; check the record before ingest')
  FROM
    registered_comparisons AS c,
    registered_classes AS n,
    json_each(NEW.body, '$.record.runs') AS r
  WHERE c.registration = NEW.registration
  AND c.comparison = NEW.comparison
  AND n.registration = NEW.registration
  AND n.node_class = NEW.node_class
  AND json_extract(r.value, '$.status') = 'Completed'
  AND (
    json_extract(r.value, '$.effective.dtype') IS NOT c.dtype
    OR json_extract(r.value, '$.effective.allowTf32') IS NOT c.allow_tf32
    OR (
      json_extract(r.value, '$.effective.threads') IS NOT n.threads
      AND json_extract(NEW.body, '$.record.environment.threads') = n.threads
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.findings') AS f
    WHERE json_extract(f.value, '$.rule') = 'R06'
    AND json_extract(f.value, '$.severity') = 'Refusal'
    AND json_extract(f.value, '$.arm') = json_extract(r.value, '$.arm')
  );
END;

CREATE TRIGGER record_is_timed_on_the_registered_shapes BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R06: a run was not timed on the registered shapes; expected each of them once; run the block again')
  FROM
    registered_comparisons AS c,
    json_each(NEW.body, '$.record.runs') AS r
  WHERE c.registration = NEW.registration
  AND c.comparison = NEW.comparison
  AND json_extract(r.value, '$.status') = 'Completed'
  AND (
    json_array_length(r.value, '$.shapes') IS NOT json_array_length(c.shapes)
    OR EXISTS (
      SELECT k.value
      FROM json_each(c.shapes) AS k
      EXCEPT
      SELECT json_extract(s.value, '$.shape')
      FROM json_each(r.value, '$.shapes') AS s
    )
  );
END;

CREATE TRIGGER record_ran_the_registered_sources BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R07: an arm ran another source than registered; expected the registered one, read back from inside its process; run the block again')
  FROM
    registered_arms AS a,
    json_each(NEW.body, '$.record.runs') AS r
  WHERE a.registration = NEW.registration
  AND a.comparison = NEW.comparison
  AND a.arm = json_extract(r.value, '$.arm')
  AND json_extract(r.value, '$.status') = 'Completed'
  AND json_extract(r.value, '$.effective.sourceDigest') IS NOT a.source_digest;
END;

CREATE TRIGGER record_has_the_registered_values BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R11: a run has fewer warm-ups, or another number of values, than registered, or batches that do not add up to them; expected the registered numbers on both clocks; run the block again')
  FROM
    registrations AS g,
    json_each(NEW.body, '$.record.runs') AS r,
    json_each(r.value, '$.shapes') AS s
  WHERE g.registration = NEW.registration
  AND json_extract(r.value, '$.status') = 'Completed'
  AND (
    json_array_length(s.value, '$.outsideNanoseconds') IS NOT g."values"
    OR json_array_length(s.value, '$.insideNanoseconds') IS NOT g."values"
    OR coalesce(json_array_length(s.value, '$.warmUpNanoseconds'), 0) < g.warm_ups
    OR g."values" IS NOT (
      SELECT sum(json_extract(b.value, '$.length'))
      FROM json_each(s.value, '$.batches') AS b
    )
  );
END;

CREATE TRIGGER record_was_checked BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R12: fewer than five outputs of a timed shape were compared with the reference; expected five different calls at least; run the block again')
  FROM
    json_each(NEW.body, '$.record.runs') AS r,
    json_each(r.value, '$.shapes') AS s
  WHERE json_extract(r.value, '$.status') = 'Completed'
  AND (
    SELECT count(DISTINCT json_extract(k.value, '$.call'))
    FROM json_each(s.value, '$.checked') AS k
  ) < 5;
END;

CREATE TRIGGER record_names_wrong_outputs BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R12: an arm gave a wrong output or changed its inputs, and no finding refuses it; expected every checked error at most 1, or a refusal of the arm; check the record before ingest')
  FROM json_each(NEW.body, '$.record.runs') AS r
  WHERE json_extract(r.value, '$.status') = 'Completed'
  AND EXISTS (
    SELECT 1
    FROM (
      SELECT s.value FROM json_each(r.value, '$.shapes') AS s
      UNION ALL
      SELECT h.value FROM json_each(r.value, '$.heldOut') AS h
    ) AS shape,
    json_each(shape.value, '$.checked') AS k
    WHERE json_extract(k.value, '$.scaledError') IS NULL
    OR json_extract(k.value, '$.scaledError') > 1
    OR json_extract(k.value, '$.inputsUnchanged') IS NOT 1
  )
  AND NOT EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.findings') AS f
    WHERE json_extract(f.value, '$.rule') = 'R12'
    AND json_extract(f.value, '$.severity') = 'Refusal'
    AND json_extract(f.value, '$.arm') = json_extract(r.value, '$.arm')
  );
END;

CREATE TRIGGER record_has_batches_for_a_line BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R13: a shape has batches of fewer than four lengths; expected four at least, or no slope can be tested; run the block again')
  FROM
    json_each(NEW.body, '$.record.runs') AS r,
    json_each(r.value, '$.shapes') AS s
  WHERE json_extract(r.value, '$.status') = 'Completed'
  AND (
    SELECT count(DISTINCT json_extract(b.value, '$.length'))
    FROM json_each(s.value, '$.batches') AS b
  ) < 4;
END;

CREATE TRIGGER record_measured_the_harness BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R13: the null arm or the walls were not measured on every registered shape; expected both, since no clock and no floor can be judged without; run the block again')
  FROM registered_comparisons AS c
  WHERE c.registration = NEW.registration
  AND c.comparison = NEW.comparison
  AND (
    EXISTS (
      SELECT k.value
      FROM json_each(c.shapes) AS k
      EXCEPT
      SELECT json_extract(n.value, '$.shape')
      FROM json_each(NEW.body, '$.record.nullShapes') AS n
    )
    OR EXISTS (
      SELECT k.value
      FROM json_each(c.shapes) AS k
      EXCEPT
      SELECT json_extract(w.value, '$.shape')
      FROM json_each(NEW.body, '$.record.walls') AS w
    )
  );
END;

CREATE TRIGGER record_names_what_was_left_behind BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R17: a run left something behind and no finding refuses its arm, or it was not cleared away; expected a clean slate before the next run; check the record before ingest')
  FROM json_each(NEW.body, '$.record.runs') AS r
  WHERE json_extract(r.value, '$.leftover.cleared') IS 0
  OR (
    (
      json_extract(r.value, '$.leftover.processes') > 0
      OR json_extract(r.value, '$.leftover.sharedMemory') > 0
      OR json_extract(r.value, '$.leftover.files') > 0
    )
    AND NOT EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.findings') AS f
      WHERE json_extract(f.value, '$.rule') = 'R17'
      AND json_extract(f.value, '$.severity') = 'Refusal'
      AND json_extract(f.value, '$.arm') = json_extract(r.value, '$.arm')
    )
  );
END;

CREATE TRIGGER record_measured_something BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R19: a timed call has no duration, or a run was not watched for load and leftovers; expected something measured everywhere, or a void block; run the block again')
  FROM json_each(NEW.body, '$.record.runs') AS r
  WHERE json_extract(r.value, '$.status') = 'Completed'
  AND (
    coalesce(json_extract(r.value, '$.contention.wallNanoseconds'), 0) < 1
    OR json_type(r.value, '$.leftover') IS NOT 'object'
    OR EXISTS (
      SELECT 1
      FROM
        json_each(r.value, '$.shapes') AS s,
        json_each(s.value, '$.outsideNanoseconds') AS o
      WHERE o.type <> 'integer'
      OR o.value < 1
    )
  );
END;

CREATE TRIGGER record_names_failed_runs BEFORE INSERT ON entries
WHEN NEW.kind = 'Record' AND NEW.outcome = 'Valid'
BEGIN
  SELECT RAISE(ABORT, 'R19: a run did not complete and no finding refuses its arm; expected a failure to be named; check the record before ingest')
  FROM json_each(NEW.body, '$.record.runs') AS r
  WHERE json_extract(r.value, '$.status') IS NOT 'Completed'
  AND NOT EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.findings') AS f
    WHERE json_extract(f.value, '$.rule') = 'R19'
    AND json_extract(f.value, '$.severity') = 'Refusal'
    AND json_extract(f.value, '$.arm') = json_extract(r.value, '$.arm')
  );
END;
