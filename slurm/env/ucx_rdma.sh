# InfiniBand or RoCE: Open MPI over UCX, which finds the devices by itself.
# To be sourced by slurm/run.sbatch: voltpile submit JOB.toml --env slurm/env/ucx_rdma.sh
# shellcheck shell=bash

export OMPI_MCA_pml=ucx
# Adapters of other makes than Mellanox: without these two Open MPI does not offer them to UCX.
# export OMPI_MCA_pml_ucx_tls=any
# export OMPI_MCA_pml_ucx_devices=any
# One adapter of several; two rails: mlx5_0:1,mlx5_1:1
# export UCX_NET_DEVICES=mlx5_0:1
# RoCE with several addresses on an adapter: the index of the RoCE v2 one (show_gids lists them).
# export UCX_IB_GID_INDEX=3
