"""Batch on Spark: stages run one after the other, joined by Spark's ordinary shuffle."""
