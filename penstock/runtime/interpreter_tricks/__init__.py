"""What depends on the inside of CPython: its bytecode, and how it counts references.

Nothing here changes what a job computes, only how fast. Each trick is tried when its module is imported and is not used
where the trial fails; :mod:`~penstock.runtime.interpreter_tricks.switch` turns all of them off.
"""
