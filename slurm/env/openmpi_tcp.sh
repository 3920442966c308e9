# Ethernet without RDMA: Open MPI's own TCP transport.
# To be sourced by slurm/run.sbatch: voltpile submit JOB.toml --env slurm/env/openmpi_tcp.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ob1
export OMPI_MCA_btl=tcp,vader,self
# Nodes on several networks: the one on which all of them see each other.
# export OMPI_MCA_btl_tcp_if_include=eth0
# export OMPI_MCA_oob_tcp_if_include=eth0
