#!/bin/sh
# killed_peer.sh MPIRUN RANKS PROGRAM: kills the last of RANKS ranks; all others must notice.
output=$("$1" --enable-recovery -np "$2" "$3" 2>&1)
noticed=$(printf '%s\n' "$output" | grep -c "noticed in time")
[ "$noticed" -eq $(($2 - 1)) ] && exit 0
printf '%s\n' "$output"
exit 1
