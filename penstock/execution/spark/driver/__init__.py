"""The driver: finds a session, submits a job to Spark, supervises it."""
