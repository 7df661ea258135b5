"""Audits look for faults: of one mechanism, and of a whole private solve. They prove nothing."""

from privlp.audits.mechanism import audit as audit
from privlp.audits.results import AuditedRelease as AuditedRelease
from privlp.audits.results import AuditResult as AuditResult
from privlp.audits.results import SolveAudit as SolveAudit
from privlp.audits.solve import audit_solve as audit_solve
from privlp.audits.tape import Tape as Tape
