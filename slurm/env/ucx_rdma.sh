# For InfiniBand or RoCE: uses UCX, which finds the devices itself.
# slurm/run.sbatch sources this file: voltpile submit JOB.toml --env slurm/env/ucx_rdma.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ucx
# Open MPI offers only Mellanox adapters to UCX by default. For other makes:
# export OMPI_MCA_pml_ucx_tls=any
# export OMPI_MCA_pml_ucx_devices=any
# To use one of several adapters (for two rails: mlx5_0:1,mlx5_1:1):
# export UCX_NET_DEVICES=mlx5_0:1
# If a RoCE adapter has several addresses, give the index of its RoCE v2 address (show_gids lists them):
# export UCX_IB_GID_INDEX=3
