#!/usr/bin/env node
// A policy that takes its time (EOG_SLOW_MS): an origin where something was changed, whatever a person says;
// EOG_DEFER is put off until a person says something of it. It waits as long as the file EOG_HOLD is there.
import { existsSync, readFileSync } from "node:fs";

const { entity, context, neighbours } = JSON.parse(readFileSync(0, "utf8"));
const findings = (context.findings ?? []).map(({ id, content }) => ({ id, ...content }));
const said = findings.find((one) => one.kind === "note" && ["person", "remark"].includes(one.source));
const own = (kind) => findings.find((one) => one.kind === kind && one.entity === entity);
const because = (label, finding, summary) => {
  const evidence = [finding.id];
  const claim = ({ entity: effect }) => ({ cause: entity, effect, condition: summary, observed: "beside it", evidence });
  return { label, summary, evidence, claims: label === "origin" ? neighbours.map(claim) : [] };
};
let decision = { label: "healthy", summary: "nothing here" };
if (entity === process.env.EOG_DEFER && !said) decision = { label: "defer", summary: "nothing is known of it" };
else if (own("change")) decision = because("origin", own("change"), own("change").excerpt);
else if (own("alert")) decision = because("symptom", own("alert"), "it alerts");
else if (said) decision = because("healthy", said, `a person: ${said.excerpt}`);
decision.proposals = neighbours.slice(0, 2).map((one) => ({ entity: one.entity, direction: one.direction, reason: "beside it" }));
const answer = () => {
  if (process.env.EOG_HOLD && existsSync(process.env.EOG_HOLD)) setTimeout(answer, 50);
  else console.log(JSON.stringify(decision));
};
setTimeout(answer, Number(process.env.EOG_SLOW_MS ?? 400));
