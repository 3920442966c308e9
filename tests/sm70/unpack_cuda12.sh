#!/bin/bash
# Unpacks CUDA 12.4, the newest toolkit of a distribution that compiles for V100 (sm_70), into a folder of its own; the system stays
# as it is. It comes from the non-free section of Debian 13: 1.0 GB to download, 0.2 GB unpacked. Does nothing if the folder has it.
#
# usage: unpack_cuda12.sh FOLDER
#
# Works on every distribution that has apt and Debian's archive keys (package debian-archive-keyring). The mirror is the one in apt's
# sources if that is a Debian mirror, otherwise deb.debian.org. FOLDER gets the layout of NVIDIA's own installer: bin/nvcc, include,
# lib64 with the static runtime and stubs of cuBLAS. Programs link and start with those, but multiply no matrices.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
to=$(realpath -m "$1")
[ ! -x "$to/bin/nvcc" ] || exit 0

packages="nvidia-cuda-toolkit nvidia-cuda-dev libcudart12 libcu++-dev"
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
    grep -oE '^(deb|URIs:).*https?://[^ ]+/debian/?( |$)' | grep -oE 'https?://[^ ]+' | head -n 1 || true)
rm -rf "$to"
mkdir -p "$to"/apt/{lists/partial,cache/partial,parts,debs} "$to"/{bin,lib64,nvvm}
cat >"$to/apt/debian.sources" <<END
Types: deb
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: trixie
Components: main contrib non-free
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt() {
    apt-get -q -o Dir::State::Lists="$to/apt/lists" -o Dir::Cache="$to/apt/cache" -o Dir::Etc::SourceList="$to/apt/debian.sources" \
        -o Dir::Etc::SourceParts="$to/apt/parts" -o APT::Sandbox::User=root "$@"
}
echo "downloading CUDA 12.4 from ${mirror:-http://deb.debian.org/debian} into $to"
apt update
(cd "$to/apt/debs" && apt download $packages)

# Most of the packages' size is static libraries. Only those named libcud* are needed: cudart_static and cudadevrt.
for package in "$to"/apt/debs/*.deb; do
    dpkg --fsys-tarfile "$package" | tar -x -C "$to" --no-wildcards-match-slash --exclude='lib[!c]*.a' --exclude='lib?[!u]*.a' \
        --exclude='libcu[!d]*.a' --exclude=./usr/share --exclude=compute-sanitizer ./usr
done
tools=$to/usr/lib/nvidia-cuda-toolkit
rm "$to/usr/bin/nvcc" # a wrapper for Debian's own layout
mv "$to"/usr/bin/* "$tools"/bin/{cicc,crt} "$to/bin/"
# CMake looks for the other libraries where it finds libcudart.so.
mv "$to"/usr/lib/x86_64-linux-gnu/{libcud*.a,libcudart.so*,stubs/libcublas.so,stubs/libcublasLt.so} "$to/lib64/"
for library in libcublas libcublasLt; do ln -s "$library.so" "$to/lib64/$library.so.12"; done
mv "$tools/libdevice" "$to/nvvm/"
mv "$to/usr/include" "$to/"
cat >"$to/bin/nvcc.profile" <<'END'
TOP = $(_HERE_)/..
CICC_PATH = $(_HERE_)
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64" $(_SPACE_)
END
mv "$tools/bin/nvcc" "$to/bin/" # last: it tells a later call that everything is there
rm -rf "$to/apt" "$to/usr"
