#!/bin/sh
# Drains this node if `voltpile check` calls it bad. In slurm.conf:
#   HealthCheckProgram=/usr/share/voltpile/slurm/health.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=IDLE
# Or as Prolog: a bad node is drained, and its job is requeued, held unless SchedulerParameters has
# nohold_on_prolog_fail. Prints the report either way. Slurm sets neither PATH nor SLURM_CONF: if voltpile is not in
# the prefix of this script, scontrol not in the system's folders or slurm.conf not in /etc/slurm, set them here.
here=$(dirname "$0")
for place in "$here/../../../bin/voltpile" "$here/../build/release/voltpile"; do
    [ -z "$VOLTPILE" ] && [ -x "$place" ] && VOLTPILE=$place
done
VOLTPILE=${VOLTPILE:-voltpile}
SCONTROL=${SCONTROL:-scontrol}
# Not as a rank of the job that a prolog runs for.
unset PMIX_RANK PMI_RANK SLURM_PROCID OMPI_COMM_WORLD_RANK
report=$(timeout -k 5 50 "$VOLTPILE" check 2>&1)  # Slurm ends health checks after 60 s
code=$?
echo "$report"
case $code in
0) exit 0 ;;  # healthy or degraded
3) ;;
*)  # The check did not work. A health check fails for slurmd's log; a prolog lets its job run.
    echo "health.sh: $VOLTPILE check ended with code $code" >&2
    [ -n "$SLURM_JOB_ID" ]
    exit
    ;;
esac
reason=$(echo "$report" | sed -n 's/^  bad: //p' | head -n 1)
[ -n "$reason" ] || reason=$(echo "$report" | head -n 1)
"$SCONTROL" update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="voltpile check: $reason"
exit 1
