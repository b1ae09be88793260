"""The questions, one file each, in the order of the page."""

import importlib

ORDER = ["uncontended", "nodes", "faults", "extends", "contention", "transports", "styles",
         "fencing", "threads", "held", "memory", "startup"]


def all_questions():
    return [importlib.import_module(f"questions.{name}").QUESTION for name in ORDER]
