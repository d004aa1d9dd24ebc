"""The handlers of background work: each loads by id and calls one service.

The engine finds this package by its name (`tasks.apps`).
"""
