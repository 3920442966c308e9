# Ethernet without RDMA, by UCX: half of TCP's latency in Open MPI's own transport.
# To be sourced by slurm/run.sbatch: voltpile submit JOB.toml --env slurm/env/ucx_tcp.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ucx
# By itself Open MPI leaves UCX alone where there is no RDMA.
export OMPI_MCA_pml_ucx_tls=any
export OMPI_MCA_pml_ucx_devices=any
export UCX_TLS=tcp,sm,self
# Nodes on several networks: the one on which all of them see each other.
# export UCX_NET_DEVICES=eth0
