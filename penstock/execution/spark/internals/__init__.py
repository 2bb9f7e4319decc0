"""The border to Spark: everything Penstock uses of Spark that is no public API of PySpark.

Private attributes, calls into the JVM, py4j, modules and settings that Spark does not document are used in this folder
and nowhere else; ``tests/architecture/test_spark_border.py`` proves it. Each module lists what it uses with the Spark
file that it comes from, :mod:`self_test` tries each of them, and ``docs/design/spark-upgrade.md`` says what to check
when a new Spark comes.
"""
