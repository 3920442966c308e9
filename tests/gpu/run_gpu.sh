#!/bin/bash
# Checks Voltpile on a machine with GPUs: builds it, runs all tests that use a GPU, computes the published map on one GPU and
# on all of them, and benchmarks a language model for some seconds. Fails if the build or a test fails.
#
# usage: run_gpu.sh BUILD [CMAKE_ARGUMENT...]
#   BUILD           the folder to build in
#   CMAKE_ARGUMENT  passed to cmake. To run the code for a V100 on a newer GPU, whose driver compiles the PTX (after
#                   `make sm70`, which downloads that CUDA): -DCMAKE_CUDA_COMPILER=$PWD/build/cuda12/bin/nvcc
#                   -DCMAKE_CUDA_HOST_COMPILER=g++-12 -DCMAKE_CUDA_ARCHITECTURES=70-virtual
#                   -DCUDA_cublas_LIBRARY=FILE, the cuBLAS of this machine
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
build=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cmake -S "$source" -B "$build" -Wno-dev -DCMAKE_BUILD_TYPE=Release "$@"
cmake --build "$build" --parallel "$(nproc)" \
    --target voltpile test_llm test_threebody test_unit_device test_unit_comm test_stream_gpu
voltpile=$(realpath "$build")/voltpile
"$voltpile" --version

failed=0
ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error || failed=$?

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
gpus=$(nvidia-smi --list-gpus | wc -l)
for ranks in $(printf '%s\n' 1 "$gpus" | uniq); do
    echo "== the published map on $ranks GPU(s), three times"
    for run in 1 2 3; do
        mpirun -np "$ranks" "$voltpile" run jobs/threebody/seed_map.toml --output "$work/map_${ranks}_$run.h5"
    done
    echo "== Llama 3 8B, Q8_0, on $ranks GPU(s)"
    mpirun -np "$ranks" "$voltpile" bench llm --shape llama-3-8b --quant q8_0 --tensor "$ranks" --prompt 512 --context 128
done
exit $failed
