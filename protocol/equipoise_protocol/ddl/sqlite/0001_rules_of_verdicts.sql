-- Rules of verdicts: what may be concluded (R01, R03 to R05, R09, R10, R15, R16, R27, R28).

CREATE TRIGGER verdict_is_of_a_registration BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R01: the verdict''s campaign, comparison or node class is not registered; expected a question that was asked beforehand; register the campaign and measure it')
  WHERE NOT EXISTS (
    SELECT 1
    FROM registered_questions AS q
    WHERE q.registration = NEW.registration
    AND q.campaign = json_extract(NEW.body, '$.campaign')
    AND q.comparison = NEW.comparison
    AND q.node_class = NEW.node_class
  );
END;

CREATE TRIGGER verdict_is_under_its_protocol BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R03: the verdict carries another protocol digest than its registration; expected the one that it was registered under; judge it with that version')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND g.protocol_digest IS NOT json_extract(NEW.body, '$.protocolDigest');
END;

CREATE TRIGGER verdict_reads_the_primary_readout BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R04: the verdict rests on a readout that is not the registered primary one; expected that one, in its direction; what was not registered is exploratory and decides nothing')
  FROM registered_readouts AS r
  WHERE r.registration = NEW.registration
  AND r.comparison = NEW.comparison
  AND r.rank = 'Primary'
  AND (
    r.readout IS NOT json_extract(NEW.body, '$.readout')
    OR r.direction IS NOT json_extract(NEW.body, '$.direction')
  );
END;

CREATE TRIGGER verdict_keeps_the_registered_roles BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R05: the verdict''s treatment or a baseline is not registered in that role; expected the registered treatment, an honest baseline and a naive one; judge the registered arms')
  FROM (
    SELECT json_extract(NEW.body, '$.treatment') AS arm, 'Treatment' AS role, NULL AS baseline_kind
    UNION ALL
    SELECT json_extract(NEW.body, '$.honestBaseline'), 'Baseline', 'Honest'
    UNION ALL
    SELECT json_extract(NEW.body, '$.naiveBaseline'), 'Baseline', 'Naive'
  ) AS given
  WHERE given.arm IS NOT NULL
  AND EXISTS (
    SELECT 1
    FROM registered_arms AS a
    WHERE a.registration = NEW.registration
    AND a.comparison = NEW.comparison
  )
  AND NOT EXISTS (
    SELECT 1
    FROM registered_arms AS a
    WHERE a.registration = NEW.registration
    AND a.comparison = NEW.comparison
    AND a.arm = given.arm
    AND a.role = given.role
    AND a.baseline_kind IS given.baseline_kind
  );
END;

CREATE TRIGGER verdict_has_an_honest_ratio BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R05: the verdict has no ratio to an honest baseline; expected one for every verdict but a void one; without it the verdict is Void')
  WHERE json_extract(NEW.body, '$.honestBaseline') IS NULL
  OR json_type(NEW.body, '$.honestRatio') IS NOT 'object';
END;

CREATE TRIGGER verdict_is_at_a_registered_look BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R09: the look is not the next registered one, or the comparison has its final verdict; expected the registered looks in order, each once; wait for the next look, or register a campaign with more')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND (
    json_extract(NEW.body, '$.looks') <> q.looks
    OR NEW.look > q.looks
    OR NEW.look <> 1 + (
      SELECT count(*)
      FROM verdicts AS v
      WHERE v.registration = NEW.registration
      AND v.comparison = NEW.comparison
      AND v.node_class = NEW.node_class
    )
    OR EXISTS (
      SELECT 1
      FROM verdicts AS v
      WHERE v.registration = NEW.registration
      AND v.comparison = NEW.comparison
      AND v.node_class = NEW.node_class
      AND v.final
    )
  );
END;

CREATE TRIGGER verdict_is_final_when_it_decides BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R09: the verdict says wrongly whether it is final; expected final at the last look, for a decision, and for a refused or failed candidate; judge it again')
  WHERE json_extract(NEW.body, '$.final') IS NOT (
    NEW.look = json_extract(NEW.body, '$.looks')
    OR NEW.outcome IN ('Improvement', 'Regression', 'Equivalence')
    OR EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.reasons') AS r
      WHERE r.value IN ('CandidateRefused', 'CandidateFailed')
    )
  );
END;

-- Look k of n over N blocks is taken at the least whole number of blocks that is at least k N / n.
CREATE TRIGGER verdict_has_enough_valid_blocks BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R09: the verdict rests on another number of valid estimation blocks than its look is registered for; expected just that many, all in the ledger; measure the missing blocks, or the verdict is Void')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND json_type(NEW.body, '$.honestRatio') = 'object'
  AND (
    json_extract(NEW.body, '$.honestRatio.blocks') IS NOT (q.blocks * NEW.look + q.looks - 1) / q.looks
    OR (q.blocks * NEW.look + q.looks - 1) / q.looks > (
      SELECT count(DISTINCT d.block)
      FROM records AS d
      WHERE d.registration = NEW.registration
      AND d.comparison = NEW.comparison
      AND d.node_class = NEW.node_class
      AND d.phase = 'Estimation'
      AND d.validity = 'Valid'
    )
  );
END;

CREATE TRIGGER verdict_counts_every_attempt BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R10: the verdict leaves records out, or counts valid and void blocks wrongly; expected every record of its question, in the order of the ledger; judge it again from the ledger')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND (
    json_extract(NEW.body, '$.records') IS NOT (
      SELECT json_group_array(d.record)
      FROM (
        SELECT e.record
        FROM entries AS e
        WHERE e.kind = 'Record'
        AND e.registration = NEW.registration
        AND e.comparison = NEW.comparison
        AND e.node_class = NEW.node_class
        ORDER BY e.seq
      ) AS d
    )
    OR json_extract(NEW.body, '$.blocks.valid') IS NOT (
      SELECT count(DISTINCT d.block)
      FROM records AS d
      WHERE d.registration = NEW.registration
      AND d.comparison = NEW.comparison
      AND d.node_class = NEW.node_class
      AND d.validity = 'Valid'
    )
    OR json_extract(NEW.body, '$.blocks.void') IS NOT (
      SELECT count(*)
      FROM records AS d
      WHERE d.registration = NEW.registration
      AND d.comparison = NEW.comparison
      AND d.node_class = NEW.node_class
      AND d.validity = 'Void'
    )
  );
END;

CREATE TRIGGER verdict_above_the_breaker_is_quarantined BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R15: the ratio is above the breaker and the verdict is not held back; expected Inconclusive with reason Quarantined until it was measured again cold; measure the candidate again')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND json_extract(NEW.body, '$.honestRatio.estimate') > q.breaker_basis_points / 10000.0
  AND NOT (
    NEW.outcome = 'Inconclusive'
    AND EXISTS (SELECT 1 FROM json_each(NEW.body, '$.reasons') AS r WHERE r.value = 'Quarantined')
  );
END;

CREATE TRIGGER verdict_rests_on_steady_arms BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R16: an arm''s cross-run CV is above the registered cap, or missing for an arm of the ratio; expected at most the cap for every arm, or a Void verdict with reason Unstable; quieten the machine')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND (
    EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.crossRunCv') AS c
      WHERE c.type NOT IN ('real', 'integer')
      OR c.value > q.max_cross_run_cv_basis_points / 10000.0
    )
    OR EXISTS (
      SELECT 1
      FROM (
        SELECT json_extract(NEW.body, '$.treatment') AS arm
        UNION ALL
        SELECT json_extract(NEW.body, '$.honestBaseline')
      ) AS needed
      WHERE needed.arm NOT IN (SELECT c.key FROM json_each(NEW.body, '$.crossRunCv') AS c)
    )
  );
END;

CREATE TRIGGER verdict_is_one_of_five_with_its_reasons BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict'
BEGIN
  SELECT RAISE(ABORT, 'R27: the verdict is none of the five, or its reasons do not go with it; expected reasons for Void and Inconclusive, and none that forbid a decision beside one; judge it again by the registered rule')
  WHERE NEW.outcome NOT IN ('Improvement', 'Regression', 'Equivalence', 'Inconclusive', 'Void')
  OR (NEW.outcome IN ('Void', 'Inconclusive') AND json_array_length(NEW.body, '$.reasons') = 0)
  OR (
    NEW.outcome IN ('Improvement', 'Regression', 'Equivalence')
    AND EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.reasons') AS r
      WHERE r.value NOT IN ('Saturated', 'SmallerThanMinimumEffect')
    )
  );
END;

CREATE TRIGGER verdict_on_a_refused_candidate_is_void BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R27: the treatment was refused in as many blocks as end a comparison, or for a wrong output in one; expected a Void verdict with reason CandidateRefused or CandidateFailed; judge it again')
  FROM entries AS g
  WHERE g.kind = 'Registration'
  AND g.registration = NEW.registration
  AND (
    SELECT
      count(DISTINCT e.block) >= json_extract(g.body, '$.spec.design.refusalsToStop')
      OR coalesce(max(json_extract(f.value, '$.rule') = 'R12'), 0)
    FROM entries AS e, json_each(e.body, '$.findings') AS f
    WHERE e.kind = 'Record'
    AND e.registration = NEW.registration
    AND e.comparison = NEW.comparison
    AND e.node_class = NEW.node_class
    AND e.outcome = 'Valid'
    AND json_extract(f.value, '$.severity') = 'Refusal'
    AND json_extract(f.value, '$.arm') = json_extract(NEW.body, '$.treatment')
  );
END;

CREATE TRIGGER verdict_follows_from_its_interval BEFORE INSERT ON entries
WHEN NEW.kind = 'Verdict' AND NEW.outcome <> 'Void'
BEGIN
  SELECT RAISE(ABORT, 'R28: the verdict does not follow from its interval or its equivalence tests; expected an interval at the registered level, wholly above 1 for Improvement, below 1 for Regression, and an equivalence p below the level for Equivalence; judge it again')
  FROM registered_questions AS q
  WHERE q.registration = NEW.registration
  AND q.comparison = NEW.comparison
  AND q.node_class = NEW.node_class
  AND json_type(NEW.body, '$.honestRatio') = 'object'
  AND (
    EXISTS (
      SELECT 1
      FROM (
        SELECT '$.honestRatio.low' AS path
        UNION ALL SELECT '$.honestRatio.estimate'
        UNION ALL SELECT '$.honestRatio.high'
        UNION ALL SELECT '$.honestRatio.equivalenceP'
        UNION ALL SELECT '$.honestRatio.levelBasisPoints'
      ) AS figure
      WHERE coalesce(json_type(NEW.body, figure.path), '') NOT IN ('real', 'integer')
    )
    OR json_extract(NEW.body, '$.honestRatio.levelBasisPoints') < 10000 - q.error_rate_basis_points
    OR json_extract(NEW.body, '$.honestRatio.low') > json_extract(NEW.body, '$.honestRatio.estimate')
    OR json_extract(NEW.body, '$.honestRatio.estimate') > json_extract(NEW.body, '$.honestRatio.high')
    OR NOT CASE NEW.outcome
      WHEN 'Improvement' THEN json_extract(NEW.body, '$.honestRatio.low') > 1
      WHEN 'Regression' THEN json_extract(NEW.body, '$.honestRatio.high') < 1
      WHEN 'Equivalence'
        THEN json_extract(NEW.body, '$.honestRatio.equivalenceP') < q.error_rate_basis_points / 10000.0
      ELSE 1
    END
  );
END;
