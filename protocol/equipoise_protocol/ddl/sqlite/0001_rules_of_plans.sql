-- Rules of planned blocks: what may be measured next (R01, R03, R08, R09, R10, R17, R18, R34).

CREATE TRIGGER plan_is_of_a_registration BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R01: the block''s registration is not in the ledger; expected it before the first block; register the campaign first')
  WHERE NOT EXISTS (SELECT 1 FROM registrations AS g WHERE g.registration = NEW.registration);
END;

CREATE TRIGGER plan_is_under_its_protocol BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R03: the block carries another protocol digest than its registration; expected the one that it was registered under; plan it with that version')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND g.protocol_digest IS NOT json_extract(NEW.body, '$.identity.protocolDigest');
END;

CREATE TRIGGER plan_is_of_a_registered_question BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R34: the block''s campaign, comparison or node class is not in its registration; expected a registered one; plan from the registration')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND (
    g.campaign IS NOT json_extract(NEW.body, '$.identity.campaign')
    OR NOT EXISTS (
      SELECT 1
      FROM registered_comparisons AS c
      WHERE c.registration = NEW.registration
      AND c.comparison = NEW.comparison
    )
    OR NOT EXISTS (
      SELECT 1
      FROM registered_classes AS c
      WHERE c.registration = NEW.registration
      AND c.node_class = NEW.node_class
    )
  );
END;

CREATE TRIGGER plan_stays_within_the_registered_blocks BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R09: the block''s number or phase is not registered; expected a number from 1 to selectionBlocks plus blocks, the selection blocks first; register a campaign with more blocks')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND (
    NEW.block NOT BETWEEN 1 AND g.selection_blocks + g.blocks
    OR NEW.phase IS NOT CASE WHEN NEW.block <= g.selection_blocks THEN 'Selection' ELSE 'Estimation' END
  );
END;

CREATE TRIGGER plan_precedes_the_final_verdict BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R09: the comparison has its final verdict on this node class; expected no block after it; register a new campaign for a new question')
  FROM verdicts AS v
  WHERE v.registration = NEW.registration
  AND v.comparison = NEW.comparison
  AND v.node_class = NEW.node_class
  AND v.final;
END;

CREATE TRIGGER plan_stays_within_the_registered_attempts BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R10: the block has used up its registered attempts; expected at most attemptsPerBlock that ended void or refused; look at why they did, or register a larger bound')
  FROM registrations AS g
  WHERE g.registration = NEW.registration
  AND g.attempts_per_block <= (
    SELECT count(DISTINCT p.attempt)
    FROM entries AS p
    JOIN entries AS d ON d.nonce = p.nonce
    WHERE p.kind = 'Plan'
    AND p.registration = NEW.registration
    AND p.comparison = NEW.comparison
    AND p.node_class = NEW.node_class
    AND p.block = NEW.block
    AND d.outcome IN ('Void', 'Refused')
    AND d.kind IN ('Record', 'Rejection')
  );
END;

CREATE TRIGGER plan_follows_an_ended_attempt BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R10: the attempt before this one has not ended on record; expected a void record or a rejection for it, since every attempt is recorded; take its record in, or record it as lost')
  WHERE NEW.attempt IS NOT 1
  AND NOT EXISTS (
    SELECT 1
    FROM entries AS p
    JOIN entries AS d ON d.nonce = p.nonce
    WHERE p.kind = 'Plan'
    AND p.registration = NEW.registration
    AND p.comparison = NEW.comparison
    AND p.node_class = NEW.node_class
    AND p.block = NEW.block
    AND p.attempt = NEW.attempt - 1
    AND d.kind IN ('Record', 'Rejection')
    AND d.outcome IS NOT 'Valid'
  );
END;

CREATE TRIGGER plan_is_of_a_block_still_owed BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R10: the block has a valid record; expected no further attempt, or the better one could be picked; go on with the next block')
  FROM records AS d
  WHERE d.registration = NEW.registration
  AND d.comparison = NEW.comparison
  AND d.node_class = NEW.node_class
  AND d.block = NEW.block
  AND d.attempt < NEW.attempt
  AND d.validity = 'Valid';
END;

CREATE TRIGGER plan_is_the_only_one_of_its_attempt BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R34: this attempt is planned already; expected one plan for each attempt; use the one in the ledger')
  FROM planned_blocks AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison
  AND p.node_class = NEW.node_class
  AND p.block = NEW.block
  AND p.attempt = NEW.attempt;
END;

CREATE TRIGGER plan_has_a_nonce_and_seed_of_its_own BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R08: the nonce or the seed is another attempt''s; expected ones that no other attempt has; derive them from the secret for this attempt')
  WHERE EXISTS (SELECT 1 FROM planned_blocks AS p WHERE p.nonce = NEW.nonce)
  OR EXISTS (SELECT 1 FROM planned_blocks AS p WHERE p.seed_digest = NEW.seed_digest);
END;

CREATE TRIGGER plan_has_a_mirrored_order_of_every_arm BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R08: the order is not mirrored or does not hold every arm twice; expected each registered arm once on the way there and once on the way back; derive it from the secret for this attempt')
  FROM registered_comparisons AS c
  WHERE c.registration = NEW.registration
  AND c.comparison = NEW.comparison
  AND (
    EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.order') AS o
      WHERE o.value IS NOT json_extract(
        NEW.body, '$.order[' || (json_array_length(NEW.body, '$.order') - 1 - o.key) || ']'
      )
    )
    OR EXISTS (
      SELECT 1
      FROM registered_arms AS a
      WHERE a.registration = NEW.registration
      AND a.comparison = NEW.comparison
      AND 2 <> (SELECT count(*) FROM json_each(NEW.body, '$.order') AS o WHERE o.value = a.arm)
    )
    OR json_array_length(NEW.body, '$.order') <> 2 * (
      SELECT count(*)
      FROM registered_arms AS a
      WHERE a.registration = NEW.registration
      AND a.comparison = NEW.comparison
    )
  );
END;

CREATE TRIGGER plan_precedes_the_secret BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R08: the campaign''s secret is published; expected no block after it, since its seeds can be known beforehand; register a new campaign')
  FROM secrets AS s
  WHERE s.registration = NEW.registration;
END;

CREATE TRIGGER plan_drills_what_is_registered BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R17: the plan produces a defect that is not registered for this attempt, or leaves a registered one out; expected the registered drills in first attempts and no others; plan from the registration')
  FROM entries AS g
  WHERE g.kind = 'Registration'
  AND g.registration = NEW.registration
  AND json_extract(NEW.body, '$.drill') IS NOT (
    SELECT json_extract(d.value, '$.defect')
    FROM json_each(g.body, '$.spec.design.drills') AS d
    WHERE json_extract(d.value, '$.block') = NEW.block
    AND NEW.attempt = 1
  );
END;

CREATE TRIGGER plan_applies_the_registered_environment BEFORE INSERT ON entries
WHEN NEW.kind = 'Plan'
BEGIN
  SELECT RAISE(ABORT, 'R18: the plan''s environment is not its node class''s; expected the registered threads and instruction set; plan from the registration')
  FROM registered_classes AS c
  WHERE c.registration = NEW.registration
  AND c.node_class = NEW.node_class
  AND c.environment IS NOT json_extract(NEW.body, '$.environment');
END;
