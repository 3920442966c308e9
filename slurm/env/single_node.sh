# One node: nothing leaves it, so no network is looked for.
# To be sourced by slurm/run.sbatch: voltpile submit JOB.toml --nodes 1 --env slurm/env/single_node.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ob1
export OMPI_MCA_btl=vader,self
