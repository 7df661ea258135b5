"""Pictures, as functions of what they show."""
