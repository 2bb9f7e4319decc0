"""Running a job on Spark: the only package that imports pyspark."""
