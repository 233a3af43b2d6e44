-- What the entries say, as tables to read. Nothing can be written into a view; rules look things up here.

CREATE VIEW registrations AS
SELECT
  seq,
  registration,
  json_extract(body, '$.campaign') AS campaign,
  json_extract(body, '$.campaignUid') AS campaign_uid,
  json_extract(body, '$.protocolVersion') AS protocol_version,
  json_extract(body, '$.protocolDigest') AS protocol_digest,
  json_extract(body, '$.spec.question') AS question,
  json_extract(body, '$.spec.design.selectionBlocks') AS selection_blocks,
  json_extract(body, '$.spec.design.blocks') AS blocks,
  json_extract(body, '$.spec.design.looks') AS looks,
  json_extract(body, '$.spec.design.warmUps') AS warm_ups,
  json_extract(body, '$.spec.design.values') AS "values",
  json_extract(body, '$.spec.retries.attemptsPerBlock') AS attempts_per_block,
  json_extract(body, '$.spec.decision.errorRateBasisPoints') AS error_rate_basis_points,
  json_extract(body, '$.spec.decision.maxCrossRunCvBasisPoints') AS max_cross_run_cv_basis_points,
  json_extract(body, '$.spec.decision.breakerBasisPoints') AS breaker_basis_points,
  json_extract(body, '$.spec.decision.minimumEffectBasisPoints') AS minimum_effect_basis_points,
  json_extract(body, '$.spec.decision.equivalenceMarginBasisPoints') AS equivalence_margin_basis_points,
  json_extract(body, '$.spec.amends') AS amends,
  json_extract(body, '$.secretCommitment') AS secret_commitment,
  json_extract(body, '$.registeredAt') AS registered_at
FROM entries
WHERE kind = 'Registration';

CREATE VIEW registered_classes AS
SELECT
  e.registration,
  c.key AS position,
  json_extract(c.value, '$.name') AS node_class,
  json_extract(c.value, '$.environment.threads') AS threads,
  json_extract(c.value, '$.environment.isaCap') AS isa_cap,
  json_extract(c.value, '$.fellBack') AS fell_back,
  json_extract(c.value, '$.environment') AS environment
FROM entries AS e, json_each(e.body, '$.classes') AS c
WHERE e.kind = 'Registration';

CREATE VIEW registered_comparisons AS
SELECT
  e.registration,
  c.key AS position,
  json_extract(c.value, '$.name') AS comparison,
  json_extract(c.value, '$.task.kernel.precision.dtype') AS dtype,
  json_extract(c.value, '$.task.kernel.precision.allowTf32') AS allow_tf32,
  json_extract(c.value, '$.task.kernel.cache') AS cache,
  json_extract(c.value, '$.task.kernel.shapes') AS shapes
FROM entries AS e, json_each(e.body, '$.spec.comparisons') AS c
WHERE e.kind = 'Registration';

CREATE VIEW registered_arms AS
SELECT
  e.registration,
  json_extract(c.value, '$.name') AS comparison,
  a.key AS position,
  json_extract(a.value, '$.name') AS arm,
  json_extract(a.value, '$.role') AS role,
  json_extract(a.value, '$.baselineKind') AS baseline_kind,
  json_extract(a.value, '$.kernel.mode') AS mode,
  (
    SELECT json_extract(s.value, '$.digest')
    FROM json_each(e.body, '$.sources') AS s
    WHERE json_extract(s.value, '$.comparison') = json_extract(c.value, '$.name')
    AND json_extract(s.value, '$.arm') IN (json_extract(a.value, '$.name'), '')
    ORDER BY json_extract(s.value, '$.arm') DESC
    LIMIT 1
  ) AS source_digest
FROM
  entries AS e,
  json_each(e.body, '$.spec.comparisons') AS c,
  json_each(c.value, '$.arms') AS a
WHERE e.kind = 'Registration';

CREATE VIEW registered_readouts AS
SELECT
  e.registration,
  json_extract(c.value, '$.name') AS comparison,
  json_extract(r.value, '$.name') AS readout,
  json_extract(r.value, '$.direction') AS direction,
  json_extract(r.value, '$.rank') AS rank
FROM
  entries AS e,
  json_each(e.body, '$.spec.comparisons') AS c,
  json_each(c.value, '$.readouts') AS r
WHERE e.kind = 'Registration';

-- What gets a verdict: a comparison on a node class, with what its campaign registered for it.
CREATE VIEW registered_questions AS
SELECT
  g.registration,
  g.campaign,
  c.comparison,
  n.node_class,
  g.blocks,
  g.looks,
  g.error_rate_basis_points,
  g.max_cross_run_cv_basis_points,
  g.breaker_basis_points
FROM registrations AS g
JOIN registered_comparisons AS c ON c.registration = g.registration
JOIN registered_classes AS n ON n.registration = g.registration;

CREATE VIEW planned_blocks AS
SELECT
  seq,
  registration,
  comparison,
  node_class,
  block,
  attempt,
  phase,
  nonce,
  seed_digest,
  json_extract(body, '$.order') AS run_order,
  json_extract(body, '$.environment') AS environment,
  json_extract(body, '$.drill') AS drill
FROM entries
WHERE kind = 'Plan';

CREATE VIEW records AS
SELECT
  seq,
  record,
  registration,
  comparison,
  node_class,
  block,
  attempt,
  phase,
  nonce,
  seed_digest,
  outcome AS validity,
  json_extract(body, '$.record.provenance.machine.host') AS host,
  json_extract(body, '$.record.provenance.machine.cpuModel') AS cpu_model,
  json_extract(body, '$.record.startedAt') AS started_at,
  json_extract(body, '$.record.brokenOff') AS broken_off
FROM entries
WHERE kind = 'Record';

CREATE VIEW findings AS
SELECT
  e.seq,
  e.record,
  f.key AS position,
  json_extract(f.value, '$.rule') AS rule,
  json_extract(f.value, '$.severity') AS severity,
  json_extract(f.value, '$.kind') AS kind,
  json_extract(f.value, '$.arm') AS arm,
  json_extract(f.value, '$.subject') AS subject,
  json_extract(f.value, '$.message') AS message,
  json_extract(f.value, '$.remedy') AS remedy
FROM entries AS e, json_each(e.body, '$.findings') AS f
WHERE e.kind = 'Record';

CREATE VIEW runs AS
SELECT
  e.seq,
  e.record,
  r.key AS position,
  json_extract(r.value, '$.arm') AS arm,
  json_extract(r.value, '$.status') AS status,
  json_extract(r.value, '$.message') AS message,
  json_extract(r.value, '$.effective.sourceDigest') AS source_digest
FROM entries AS e, json_each(e.body, '$.record.runs') AS r
WHERE e.kind = 'Record';

-- The raw values: one row for each timed call, on both clocks.
CREATE VIEW run_values AS
SELECT
  e.seq,
  e.record,
  e.registration,
  e.comparison,
  e.node_class,
  e.block,
  e.attempt,
  r.key AS position,
  json_extract(r.value, '$.arm') AS arm,
  json_extract(s.value, '$.shape') AS shape,
  o.key AS call,
  o.value AS outside_nanoseconds,
  json_extract(s.value, '$.insideNanoseconds[' || o.key || ']') AS inside_nanoseconds
FROM
  entries AS e,
  json_each(e.body, '$.record.runs') AS r,
  json_each(r.value, '$.shapes') AS s,
  json_each(s.value, '$.outsideNanoseconds') AS o
WHERE e.kind = 'Record';

CREATE VIEW rejections AS
SELECT
  seq,
  registration,
  comparison,
  node_class,
  block,
  attempt,
  nonce,
  outcome AS ending,
  record AS object_digest,
  json_extract(body, '$.rule') AS rule,
  json_extract(body, '$.reason') AS reason
FROM entries
WHERE kind = 'Rejection';

CREATE VIEW verdicts AS
SELECT
  seq,
  registration,
  comparison,
  node_class,
  look,
  outcome AS verdict,
  json_extract(body, '$.final') AS final,
  json_extract(body, '$.reasons') AS reasons,
  json_extract(body, '$.sentence') AS sentence,
  json_extract(body, '$.honestBaseline') AS honest_baseline,
  json_extract(body, '$.honestRatio.estimate') AS honest_ratio,
  json_extract(body, '$.honestRatio.low') AS honest_low,
  json_extract(body, '$.honestRatio.high') AS honest_high,
  json_extract(body, '$.honestRatio') AS honest,
  json_extract(body, '$.naiveRatio.estimate') AS naive_ratio,
  json_extract(body, '$.naiveRatio.low') AS naive_low,
  json_extract(body, '$.naiveRatio.high') AS naive_high
FROM entries
WHERE kind = 'Verdict';

-- The cross-run CV of each arm.
CREATE VIEW verdict_arms AS
SELECT e.seq, e.registration, e.comparison, e.node_class, e.look, c.key AS arm, c.value AS cross_run_cv
FROM entries AS e, json_each(e.body, '$.crossRunCv') AS c
WHERE e.kind = 'Verdict';

-- The records that a verdict rests on.
CREATE VIEW verdict_records AS
SELECT e.seq, e.registration, e.comparison, e.node_class, e.look, r.key AS position, r.value AS record
FROM entries AS e, json_each(e.body, '$.records') AS r
WHERE e.kind = 'Verdict';

CREATE VIEW portability AS
SELECT
  seq,
  registration,
  comparison,
  outcome AS verdict,
  json_extract(body, '$.sentence') AS sentence,
  json_extract(body, '$.heterogeneityP') AS heterogeneity_p,
  json_extract(body, '$.iSquared') AS i_squared
FROM entries
WHERE kind = 'Portability';

CREATE VIEW secrets AS
SELECT seq, registration, json_extract(body, '$.secret') AS secret
FROM entries
WHERE kind = 'SecretReveal';
