#!/bin/sh
# Fails if an object of the CPU kernels defines a symbol that the linker may merge with another object's (weak, unique or
# common): compiled for AVX-512, it could be the copy that the whole program then uses, on processors without AVX-512.
# usage: check_kernel_symbols.sh NM OBJECT...
set -eu
nm=$1
shift
[ $# -gt 0 ] || { echo "no objects given" >&2; exit 2; }
for object in "$@"; do
    symbols=$("$nm" -C --defined-only "$object")
    echo "$symbols" | grep -q " T .*::compiled_cpu_" || { echo "$object: no kernel in it" >&2; exit 1; }
    if echo "$symbols" | grep -E '^[0-9a-f]* *[WVuCvw] '; then
        echo "$object: the symbols above can replace other files' copies" >&2
        exit 1
    fi
done
