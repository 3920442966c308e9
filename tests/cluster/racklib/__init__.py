"""A rack of nodes on one machine: each node is one set of Linux namespaces. See ../README.md."""
