"""Audits look for faults: of one mechanism, and of a whole private solve. They prove nothing."""

from privlp.audits.mechanism import audit as audit
from privlp.audits.mechanism_result import AuditResult as AuditResult
from privlp.audits.solve import audit_solve as audit_solve
from privlp.audits.solve_result import AuditedRelease as AuditedRelease
from privlp.audits.solve_result import SolveAudit as SolveAudit
from privlp.audits.tape import Tape as Tape
