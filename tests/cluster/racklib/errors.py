class RackError(Exception):
    """Something about this rack: a node that is down, a folder that is taken. Says what and where."""


class CannotRun(RackError):
    """This machine cannot have a rack at all: no root, a program missing, namespaces not permitted."""
