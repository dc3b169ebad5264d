"""Shared code of the studies: jobs, records, tables, figures and verdicts."""
