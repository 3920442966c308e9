#!/bin/sh
# Compiles every CUDA file of the tree for compute capability 7.0 (V100): with clang to PTX, and that with a CUDA 12 ptxas to
# machine code. Prints registers, spills and shared memory of each kernel; fails on more than 96 KB of shared memory, on spills of
# more than a few registers (CUDA's own compiler allocates them a little differently), and on more than 256 bytes of arrays that
# did not become registers. Leaves NAME.ptx and NAME.cubin in OUT.
#
# usage: check_sm70.sh CLANG PTXAS OUT
#   CLANG  a clang++ that compiles CUDA, e.g. clang++-19; CUDA is looked for in $CUDA_HOME, else /usr/local/cuda
#   PTXAS  a ptxas of CUDA 12, e.g. the one in PyPI's nvidia-cuda-nvcc-cu12
set -eu
if [ $# -ne 3 ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
clang=$1 ptxas=$2 out=$3
cuda=${CUDA_HOME:-/usr/local/cuda}
root=$(cd "$(dirname "$0")/../.." && pwd)

mkdir -p "$out/include"
: >"$out/include/texture_fetch_functions.h" # CUDA 13 has it no more, clang 19 wants it
: >"$out/report.txt"
find "$root/src" "$root/apps" "$root/tests" -name '*.cu' | sort | while read -r file; do
    name=$(echo "${file#"$root"/}" | tr / _)
    name=${name%.cu}
    contract=off
    case $name in apps_llm_*) contract=fast ;; esac # as the build has it
    "$clang" -x cuda --cuda-path="$cuda" --cuda-gpu-arch=sm_70 --cuda-device-only -S -std=c++20 -O3 \
        -ffp-contract=$contract -Wno-unknown-cuda-version -DVOLTPILE_CUDA=1 \
        -I"$out/include" -I"$root/src" -I"$root/apps" "$file" -o "$out/$name.ptx"
    echo "file $name" >>"$out/report.txt"
    "$ptxas" -v -arch=sm_70 "$out/$name.ptx" -o "$out/$name.cubin" 2>>"$out/report.txt"
done

c++filt <"$out/report.txt" | awk '
    /^file / { file = $2 }
    /Compiling entry function/ {
        split($0, part, "\047")
        kernel = part[2]
        sub(/^void /, "", kernel)
        sub(/\(.*/, "", kernel)
        gsub(/[A-Za-z0-9_]+::/, "", kernel)
    }
    /bytes spill stores/ {
        spills = 0
        stack = $1
        for (i = 1; i < NF; ++i) if ($(i + 2) == "spill") spills += $i
    }
    / Used .* registers/ {
        registers = shared = 0
        for (i = 1; i < NF; ++i) {
            if ($(i + 1) ~ /^registers/) registers = $i
            if ($(i + 2) ~ /^smem/) shared = $i
        }
        if (!kernels++) printf "%9s %7s %8s  %s\n", "registers", "spills", "shared", "kernel"
        bad = spills > 32 || stack > 256 || shared > 96 * 1024
        failed += bad
        printf "%9d %7d %8d  %s: %s%s\n", registers, spills, shared, file, kernel, bad ? "  <-- too much" : ""
    }
    END {
        printf "%d kernels for sm_70, %d with spills or too much shared memory\n", kernels, failed
        exit kernels == 0 || failed > 0
    }'
