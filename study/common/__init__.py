"""What the studies share: jobs that measure, records, tables, figures and verdicts."""
