#!/bin/bash
# Lists what every GPU kernel of a program needs: registers, bytes of stack and bytes of static shared memory. A kernel's stack holds
# what did not fit into registers and arrays that did not become registers, and lies in device memory: fails if one has more than
# MOST_STACK bytes and is no known exception. Dynamic shared memory is not in the list; the kernels check theirs when they compile.
#
# usage: report_kernels.sh CUOBJDUMP PROGRAM...
#   CUOBJDUMP  that of the CUDA version that compiled the program
#   PROGRAM    a program or object files
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
MOST_STACK=16
# These kernels need more, and how much: gbs10 computes with all registers, and watching the path takes 26 more.
EXCEPTION='AdaptiveLane<GraggBulirschStoer10, double, (true|false), true>'
MOST_STACK_OF_EXCEPTION=104
# Kernels of the namespace rolled keep their arrays in memory (apps/threebody/gpu_double_double.cu).
MOST_STACK_OF_ROLLED=2304

for program in "${@:2}"; do "$1" --dump-resource-usage "$program"; done | c++filt | awk -v most="$MOST_STACK" -v exception="$EXCEPTION" \
    -v most_of_exception="$MOST_STACK_OF_EXCEPTION" -v most_of_rolled="$MOST_STACK_OF_ROLLED" '
    / Function / {
        kernel = $0
        sub(/^ *Function /, "", kernel)
        sub(/:$/, "", kernel)
        sub(/^void /, "", kernel)
        rolled = kernel ~ /rolled::/
        gsub(/\(anonymous namespace\)::|[A-Za-z0-9_]+::/, "", kernel)
        gsub(/\([A-Za-z]+\)/, "", kernel) # types of template arguments
        sub(/\(.*/, "", kernel)
    }
    /REG:/ {
        for (i = 1; i <= NF; ++i) {
            split($i, part, ":")
            value[part[1]] = part[2]
        }
        if (!kernels++) printf "%9s %6s %7s  %s\n", "registers", "stack", "shared", "kernel"
        excepted = rolled || kernel ~ exception
        bad = value["STACK"] > (rolled ? most_of_rolled : excepted ? most_of_exception : most)
        failed += bad
        exceptions += excepted && !bad && value["STACK"] > most
        printf "%9d %6d %7d  %s%s\n", value["REG"], value["STACK"], value["SHARED"], kernel, bad ? "  <-- too much" : ""
    }
    END {
        printf "%d kernels, %d with more than %d bytes of stack", kernels, failed + exceptions, most
        printf "%s\n", exceptions ? ", " exceptions " of them known" : ""
        exit kernels == 0 || failed > 0
    }'
