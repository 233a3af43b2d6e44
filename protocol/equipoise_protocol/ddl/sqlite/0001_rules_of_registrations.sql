-- Rules of registrations: what may be asked (R02 to R06, R08, R09, R16, R18).

CREATE TRIGGER registration_commits_to_a_secret_of_its_own BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R08: another registration committed to the same secret; expected a fresh one, since no seed may be used twice; draw 32 new random bytes')
  WHERE EXISTS (
    SELECT 1
    FROM registrations AS g
    WHERE g.secret_commitment = json_extract(NEW.body, '$.secretCommitment')
  );
END;

CREATE TRIGGER registration_is_under_a_known_protocol BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R03: the registration names a protocol that this ledger does not know; expected the version and digest of an installed protocol; register with the installed equipoise')
  WHERE NOT EXISTS (
    SELECT 1
    FROM protocols AS p
    WHERE p.digest = json_extract(NEW.body, '$.protocolDigest')
    AND p.version = json_extract(NEW.body, '$.protocolVersion')
  );
END;

CREATE TRIGGER registration_of_a_known_campaign_amends BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R02: the campaign is registered already; expected the same file, or one that names the registration it amends and says what had been seen by then; put the old file back, or set amends and seenBefore')
  WHERE EXISTS (
    SELECT 1
    FROM registrations AS g
    WHERE g.campaign = json_extract(NEW.body, '$.campaign')
    AND g.campaign_uid = json_extract(NEW.body, '$.campaignUid')
  )
  AND (
    json_extract(NEW.body, '$.spec.seenBefore') IS NULL
    OR NOT EXISTS (
      SELECT 1
      FROM registrations AS g
      WHERE g.campaign = json_extract(NEW.body, '$.campaign')
      AND g.registration = json_extract(NEW.body, '$.spec.amends')
    )
  );
END;

CREATE TRIGGER registration_names_one_primary_readout BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R04: a comparison has no primary readout, or several, or one on the candidate''s own clock; expected exactly one, latency or throughput; rank one readout Primary')
  FROM json_each(NEW.body, '$.spec.comparisons') AS c
  WHERE 1 <> (
    SELECT count(*)
    FROM json_each(c.value, '$.readouts') AS r
    WHERE json_extract(r.value, '$.rank') = 'Primary'
  )
  OR EXISTS (
    SELECT 1
    FROM json_each(c.value, '$.readouts') AS r
    WHERE json_extract(r.value, '$.rank') = 'Primary'
    AND coalesce(json_extract(r.value, '$.name'), '') NOT IN ('latency', 'throughput')
  );
END;

CREATE TRIGGER registration_has_honest_baselines BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R05: a comparison has no honest baseline, or not exactly one treatment; expected at least one baseline of kind Honest beside one treatment; add what a competent user would run today')
  FROM json_each(NEW.body, '$.spec.comparisons') AS c
  WHERE 1 <> (
    SELECT count(*)
    FROM json_each(c.value, '$.arms') AS a
    WHERE json_extract(a.value, '$.role') = 'Treatment'
  )
  OR NOT EXISTS (
    SELECT 1
    FROM json_each(c.value, '$.arms') AS a
    WHERE json_extract(a.value, '$.role') = 'Baseline'
    AND json_extract(a.value, '$.baselineKind') = 'Honest'
  );
END;

CREATE TRIGGER registration_pins_every_source BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R06: a problem or an arm''s source has no digest, or several; expected exactly one for each, so that what is measured is what was registered; freeze the campaign anew')
  FROM json_each(NEW.body, '$.spec.comparisons') AS c
  WHERE 1 <> (
    SELECT count(*)
    FROM json_each(NEW.body, '$.sources') AS s
    WHERE json_extract(s.value, '$.comparison') = json_extract(c.value, '$.name')
    AND json_extract(s.value, '$.arm') = ''
  )
  OR EXISTS (
    SELECT 1
    FROM json_each(c.value, '$.arms') AS a
    WHERE coalesce(json_type(a.value, '$.kernel.source') = 'object', 0) <> (
      SELECT count(*)
      FROM json_each(NEW.body, '$.sources') AS s
      WHERE json_extract(s.value, '$.comparison') = json_extract(c.value, '$.name')
      AND json_extract(s.value, '$.arm') = json_extract(a.value, '$.name')
    )
  );
END;

CREATE TRIGGER registration_names_each_thing_once BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R08: two comparisons, or two arms of one, bear the same name; expected names that differ, since blocks and runs are told apart by them; rename one')
  WHERE EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.spec.comparisons') AS c
    GROUP BY json_extract(c.value, '$.name')
    HAVING count(*) > 1
  )
  OR EXISTS (
    SELECT 1
    FROM
      json_each(NEW.body, '$.spec.comparisons') AS c,
      json_each(c.value, '$.arms') AS a
    GROUP BY c.key, json_extract(a.value, '$.name')
    HAVING count(*) > 1
  );
END;

CREATE TRIGGER registration_has_looks_that_its_blocks_carry BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R09: the registered looks or blocks can''t be; expected 1 to 10 looks with at least two blocks for each, and at least one attempt a block; take fewer looks or more blocks')
  WHERE json_extract(NEW.body, '$.spec.design.looks') NOT BETWEEN 1 AND 10
  OR json_extract(NEW.body, '$.spec.design.blocks') < 2 * json_extract(NEW.body, '$.spec.design.looks')
  OR json_extract(NEW.body, '$.spec.design.selectionBlocks') < 0
  OR json_extract(NEW.body, '$.spec.retries.attemptsPerBlock') < 1;
END;

CREATE TRIGGER registration_says_why_its_cap_is_loose BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R16: the cap on the cross-run CV is above 5 % and no reason is given; expected at most 500 basis points, or looserCvReason; give the reason or keep the cap')
  WHERE json_extract(NEW.body, '$.spec.decision.maxCrossRunCvBasisPoints') > 500
  AND json_extract(NEW.body, '$.spec.decision.looserCvReason') IS NULL;
END;

CREATE TRIGGER registration_freezes_each_class BEFORE INSERT ON entries
WHEN NEW.kind = 'Registration'
BEGIN
  SELECT RAISE(ABORT, 'R18: the frozen node classes are not the ones that the campaign names, or one has an environment that is neither its own nor its fallback; expected each named class once, as its object says; freeze the campaign anew')
  WHERE (
    SELECT json_group_array(json_extract(c.value, '$.name'))
    FROM json_each(NEW.body, '$.classes') AS c
  ) IS NOT json_extract(NEW.body, '$.spec.nodeClasses')
  OR EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.classes') AS c
    GROUP BY json_extract(c.value, '$.name')
    HAVING count(*) > 1
  )
  OR EXISTS (
    SELECT 1
    FROM json_each(NEW.body, '$.classes') AS c
    WHERE json_type(c.value, '$.environment') IS NOT 'object'
    OR json_extract(c.value, '$.environment') NOT IN (
      coalesce(json_extract(c.value, '$.spec.environment'), ''),
      coalesce(json_extract(c.value, '$.spec.fallback'), '')
    )
  );
END;
