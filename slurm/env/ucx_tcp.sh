# For Ethernet without RDMA: uses UCX over TCP, which has half the latency of Open MPI's own TCP transport.
# slurm/run.sbatch sources this file: voltpile submit JOB.toml --env slurm/env/ucx_tcp.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ucx
# Without RDMA, Open MPI uses UCX only if these are set:
export OMPI_MCA_pml_ucx_tls=any
export OMPI_MCA_pml_ucx_devices=any
export UCX_TLS=tcp,sm,self
# If nodes have several networks, name the one that connects them all:
# export UCX_NET_DEVICES=eth0
