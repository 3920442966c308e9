# For a single node: communicates through shared memory and skips the search for networks.
# slurm/run.sbatch sources this file: voltpile submit JOB.toml --nodes 1 --env slurm/env/single_node.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ob1
export OMPI_MCA_btl=vader,self
