"""Builds the extension; everything else is in pyproject.toml, where extensions are still an experiment."""

from pathlib import Path

from setuptools import Extension, setup

_WARNINGS = ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]

setup(
    packages=[],
    ext_modules=[
        Extension(
            "penstock_native",
            sources=sorted(str(path) for path in Path("src").glob("*.c")),
            depends=["src/penstock_native.h"],
            extra_compile_args=["-O3", "-std=c11", *_WARNINGS],
        )
    ],
)
