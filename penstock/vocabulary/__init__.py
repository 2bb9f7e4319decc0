"""What a streaming program is made of: functions, state, time, windows, types and options.

Modules here import nothing of the rest of the package except ``penstock.errors``.
"""
