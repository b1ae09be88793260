"""The error that ends a run with a message and no traceback."""


class Trouble(Exception):
    pass
