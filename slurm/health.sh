#!/bin/sh
# Drains this node if `voltpile check` calls it bad. In slurm.conf:
#   HealthCheckProgram=/usr/share/voltpile/slurm/health.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=IDLE
# Or as Prolog: a bad node is drained, and its job is requeued. Prints the report either way.
VOLTPILE=${VOLTPILE:-voltpile}
# Not as a rank of the job that a prolog runs for.
unset PMIX_RANK PMI_RANK SLURM_PROCID OMPI_COMM_WORLD_RANK
report=$("$VOLTPILE" check 2>&1)
code=$?
echo "$report"
[ "$code" -eq 3 ] || exit 0
reason=$(echo "$report" | sed -n 's/^  bad: /voltpile check: /p' | head -n 1)
scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="$reason"
exit 1
