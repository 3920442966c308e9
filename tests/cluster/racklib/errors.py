class RackError(Exception):
    """A problem with this rack, such as a node that is down. The message says what and where."""


class CannotRun(RackError):
    """This machine cannot run a rack: not root, a missing program, or namespaces not permitted."""
