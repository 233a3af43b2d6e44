-- Rules of rejections, portability verdicts and revealed secrets (R01, R08, R10, R29).

CREATE TRIGGER rejection_says_how_the_attempt_ended BEFORE INSERT ON entries
WHEN NEW.kind = 'Rejection'
BEGIN
  SELECT RAISE(ABORT, 'R10: the rejection does not say what became of the attempt; expected Refused with the digest of the refused object, or Lost with none for a planned attempt without a record; take the record in, or name what was lost')
  WHERE NOT CASE NEW.outcome
    WHEN 'Refused' THEN json_type(NEW.body, '$.objectDigest') IS 'text'
    WHEN 'Lost' THEN json_type(NEW.body, '$.objectDigest') IS 'null'
      AND EXISTS (SELECT 1 FROM planned_blocks AS p WHERE p.nonce = NEW.nonce)
      AND NOT EXISTS (SELECT 1 FROM records AS d WHERE d.nonce = NEW.nonce)
    ELSE 0
  END;
END;

CREATE TRIGGER portability_is_of_a_registration BEFORE INSERT ON entries
WHEN NEW.kind = 'Portability'
BEGIN
  SELECT RAISE(ABORT, 'R01: the portability verdict''s campaign or comparison is not registered; expected a question that was asked beforehand; register the campaign and measure it')
  WHERE NOT EXISTS (
    SELECT 1
    FROM registrations AS g
    JOIN registered_comparisons AS c ON c.registration = g.registration
    WHERE g.registration = NEW.registration
    AND g.campaign = json_extract(NEW.body, '$.campaign')
    AND c.comparison = NEW.comparison
  );
END;

CREATE TRIGGER portability_is_said_once BEFORE INSERT ON entries
WHEN NEW.kind = 'Portability'
BEGIN
  SELECT RAISE(ABORT, 'R29: the comparison has its portability verdict already; expected one; register a new campaign for a new question')
  FROM portability AS p
  WHERE p.registration = NEW.registration
  AND p.comparison = NEW.comparison;
END;

CREATE TRIGGER portability_rests_on_final_verdicts BEFORE INSERT ON entries
WHEN NEW.kind = 'Portability'
BEGIN
  SELECT RAISE(ABORT, 'R29: the portability verdict leaves a node class out, or repeats it otherwise than its final verdict says; expected every registered class with the verdict and ratio of its final verdict; judge it again from the ledger')
  WHERE EXISTS (
    SELECT 1
    FROM registered_classes AS n
    WHERE n.registration = NEW.registration
    AND NOT EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.classes') AS c
      JOIN verdicts AS v
        ON v.registration = NEW.registration
        AND v.comparison = NEW.comparison
        AND v.node_class = json_extract(c.value, '$.nodeClass')
      WHERE json_extract(c.value, '$.nodeClass') = n.node_class
      AND v.final
      AND v.verdict = json_extract(c.value, '$.verdict')
      AND v.honest IS json_extract(c.value, '$.ratio')
    )
  )
  OR json_array_length(NEW.body, '$.classes') > (
    SELECT count(*)
    FROM registered_classes AS n
    WHERE n.registration = NEW.registration
  );
END;

CREATE TRIGGER portability_is_one_of_three BEFORE INSERT ON entries
WHEN NEW.kind = 'Portability'
BEGIN
  SELECT RAISE(ABORT, 'R29: the portability verdict is none of the three, or is certain about a class that has no ratio; expected Transfers, DoesNotTransfer or Inconclusive, the last where a class is void; judge it again')
  WHERE NEW.outcome NOT IN ('Transfers', 'DoesNotTransfer', 'Inconclusive')
  OR (
    NEW.outcome <> 'Inconclusive'
    AND EXISTS (
      SELECT 1
      FROM json_each(NEW.body, '$.classes') AS c
      WHERE json_extract(c.value, '$.verdict') = 'Void'
      OR json_type(c.value, '$.ratio') IS NOT 'object'
    )
  );
END;

CREATE TRIGGER secret_is_of_a_registration BEFORE INSERT ON entries
WHEN NEW.kind = 'SecretReveal'
BEGIN
  SELECT RAISE(ABORT, 'R01: the secret''s registration is not in the ledger; expected a registered campaign; name the registration that committed to it')
  WHERE NOT EXISTS (SELECT 1 FROM registrations AS g WHERE g.registration = NEW.registration);
END;

CREATE TRIGGER secret_is_revealed_once BEFORE INSERT ON entries
WHEN NEW.kind = 'SecretReveal'
BEGIN
  SELECT RAISE(ABORT, 'R08: the campaign''s secret is published already, or this one is not 32 bytes in hexadecimal; expected the one secret that the registration commits to; nothing has to be done')
  WHERE EXISTS (SELECT 1 FROM secrets AS s WHERE s.registration = NEW.registration)
  OR length(json_extract(NEW.body, '$.secret')) <> 64
  OR json_extract(NEW.body, '$.secret') GLOB '*[^0-9a-f]*';
END;
