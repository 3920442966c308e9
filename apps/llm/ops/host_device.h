// Marks functions that run on the host and on GPUs.
#pragma once

#if defined(__CUDACC__)
#define VOLTPILE_HOST_DEVICE __host__ __device__
#else
#define VOLTPILE_HOST_DEVICE
#endif
