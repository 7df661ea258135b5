"""Private records: read, checked, scaled, kept in blocks, and summed on a public grid."""

from svm_models.records.scaled import Preparation, decisions_of, signed, within_norm

__all__ = ["Preparation", "decisions_of", "signed", "within_norm"]
