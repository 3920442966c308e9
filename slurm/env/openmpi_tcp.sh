# For Ethernet without RDMA: uses Open MPI's own TCP transport.
# slurm/run.sbatch sources this file: voltpile submit JOB.toml --env slurm/env/openmpi_tcp.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ob1
export OMPI_MCA_btl=tcp,vader,self
# If nodes have several networks, name the one that connects them all:
# export OMPI_MCA_btl_tcp_if_include=eth0
# export OMPI_MCA_oob_tcp_if_include=eth0
