# A site with environment modules (Lmod): the Open MPI and HDF5 that voltpile was built with, and no others.
# To be sourced by slurm/run.sbatch: voltpile submit JOB.toml --env slurm/env/lmod.sh
# `module avail openmpi hdf5` lists the names at your site; write down the versions, defaults change.
# shellcheck shell=bash

# Batch shells of some sites do not know `module`.
if ! command -v module >/dev/null; then
  # shellcheck disable=SC1091
  . "${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash"
fi
module purge
module load openmpi/4.1 hdf5/1.14
