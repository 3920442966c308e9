# For sites with environment modules (Lmod): loads the Open MPI and HDF5 that voltpile was built with, and nothing else.
# slurm/run.sbatch sources this file: voltpile submit JOB.toml --env slurm/env/lmod.sh
# `module avail openmpi hdf5` lists the names at your site. Name the versions, because defaults change.
# shellcheck shell=bash

# At some sites, batch shells do not define `module`.
if ! command -v module >/dev/null; then
  # shellcheck disable=SC1091
  . "${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash"
fi
module purge
module load openmpi/4.1 hdf5/1.14
