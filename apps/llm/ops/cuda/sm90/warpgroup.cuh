// Instructions of compute capability 9.0a: products of a warpgroup (four warps, 128 threads), barriers in
// shared memory on which loads and products wait for each other, and register shares. PTX ISA: wgmma,
// mbarrier, setmaxnreg.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/named_barrier.cuh"
#include "llm/ops/cuda/swizzle.cuh"

namespace voltpile::llm {

constexpr int warpgroup_threads = 128;

// A barrier in shared memory. A phase ends after `arrivals` arrivals; phases have the parities 0, 1, 0, ...
class PhaseBarrier {
  public:
    __device__ void start(int arrivals) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state_)), "r"(arrivals)
                     : "memory");
    }
    __device__ void arrive() {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&state_)) : "memory");
    }
    // Without a branch, which would make the compiler wait for products that run.
    __device__ __forceinline__ void arrive_if(bool chosen) {
        asm volatile(
            "{\n"
            ".reg .pred chosen;\n"
            "setp.ne.b32 chosen, %1, 0;\n"
            "@chosen mbarrier.arrive.shared.b64 _, [%0];\n"
            "}" ::"r"(shared_address(&state_)),
            "r"(static_cast<int>(chosen))
            : "memory");
    }
    // Arrives as soon as the thread's asynchronous copies so far are complete.
    __device__ void arrive_after_copies() {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&state_))
                     : "memory");
    }
    // The phase does not end before `bytes` of the copies below have arrived.
    __device__ __forceinline__ void expect(int bytes) {
        asm volatile(
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&state_)),
            "r"(bytes)
            : "memory");
    }
    // Copies contiguous global memory, 16-byte aligned.
    __device__ __forceinline__ void copy(void* shared, const void* from, int bytes) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                shared_address(shared)),
            "l"(from), "r"(bytes), "r"(shared_address(&state_))
            : "memory");
    }
    // Copies a box of a tensor_map(), 128-byte aligned, from byte `byte` of row `row` on.
    __device__ __forceinline__ void copy_box(void* shared, const CUtensorMap& map, int byte, int row) {
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(shared)),
            "l"(&map), "r"(byte), "r"(row), "r"(shared_address(&state_))
            : "memory");
    }
    // Waits for the end of a phase with this parity, or returns at once if it was
    // the last that ended.
    __device__ void wait(int parity) {
        asm volatile(
            "{\n"
            ".reg .pred done;\n"
            "again:\n"
            "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
            "@!done bra again;\n"
            "}" ::"r"(shared_address(&state_)),
            "r"(parity)
            : "memory");
    }

  private:
    std::uint64_t state_;
};

// Makes what this thread wrote to shared memory, or has seen of others, visible to the products and bulk
// copies that follow.
__device__ __forceinline__ void show_to_products() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Changes the registers per thread of the warpgroup. All its warps call it.
template <int registers>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// Describes a matrix in shared memory to a product: blocks of 8 rows of 128 bytes (64 halves), whose 16-byte
// pieces are permuted by swizzled(). Blocks begin at multiples of 1024 bytes and follow each other down the
// rows. For a product over the rows, chunk_bytes is the distance between chunks of 64 columns.
__device__ __forceinline__ std::uint64_t describe(const void* shared, int chunk_bytes = 16) {
    constexpr std::uint64_t swizzle_of_128_bytes = 1;
    constexpr std::uint64_t block_bytes = 1024;
    return (shared_address(shared) & 0x3ffff) >> 4 | static_cast<std::uint64_t>(chunk_bytes >> 4) << 16 |
           block_bytes >> 4 << 32 | swizzle_of_128_bytes << 62;
}
__device__ __forceinline__ std::uint64_t advanced(std::uint64_t description, int bytes) {
    return description + static_cast<std::uint64_t>(bytes >> 4);
}

// Products run asynchronously: begin_products(), some multiply(), end_of_products(), and later
// wait_for_products<n>(), which waits for all but the last n groups. Between begin and wait, only the
// products touch their sums and registers; keep() stops the compiler from moving other uses there.
__device__ __forceinline__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_of_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int later>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(later) : "memory");
}
template <int size>
__device__ __forceinline__ void keep(float (&values)[size]) {
#pragma unroll
    for (int i = 0; i < size; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
template <int count>
__device__ __forceinline__ void keep(std::uint32_t (&values)[count][4]) {
#pragma unroll
    for (int i = 0; i < 4 * count; ++i) asm volatile("" : "+r"(values[i / 4][i % 4])::"memory");
}

// Thread t of the warpgroup has the elements (t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8, i / 4 * 8 + t % 4 * 2
// + i % 2) of a sum of 64 rows, i being the index into its array.
__host__ __device__ constexpr int sum_row(int i) {
    return i % 4 / 2 * 8;
}
__host__ __device__ constexpr int sum_column(int i) {
    return i / 4 * 8 + i % 2;
}

#define VOLTPILE_SUMS_32(d, at)                                                                       \
    "+f"(d[at]), "+f"(d[at + 1]), "+f"(d[at + 2]), "+f"(d[at + 3]), "+f"(d[at + 4]), "+f"(d[at + 5]), \
        "+f"(d[at + 6]), "+f"(d[at + 7]), "+f"(d[at + 8]), "+f"(d[at + 9]), "+f"(d[at + 10]),         \
        "+f"(d[at + 11]), "+f"(d[at + 12]), "+f"(d[at + 13]), "+f"(d[at + 14]), "+f"(d[at + 15]),     \
        "+f"(d[at + 16]), "+f"(d[at + 17]), "+f"(d[at + 18]), "+f"(d[at + 19]), "+f"(d[at + 20]),     \
        "+f"(d[at + 21]), "+f"(d[at + 22]), "+f"(d[at + 23]), "+f"(d[at + 24]), "+f"(d[at + 25]),     \
        "+f"(d[at + 26]), "+f"(d[at + 27]), "+f"(d[at + 28]), "+f"(d[at + 29]), "+f"(d[at + 30]),     \
        "+f"(d[at + 31])
#define VOLTPILE_NAMES_32                                                    \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, "                                         \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define VOLTPILE_NAMES_64                                                      \
    VOLTPILE_NAMES_32                                                          \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
    "%46, %47, %48, %49, %50, %51, "                                           \
    "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define VOLTPILE_NAMES_128                                                     \
    VOLTPILE_NAMES_64                                                          \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, " \
    "%78, %79, %80, %81, %82, %83, "                                           \
    "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "   \
    "%98, %99, %100, %101, %102, "                                             \
    "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
    "%115, %116, %117, %118, %119, "                                           \
    "%120, %121, %122, %123, %124, %125, %126, %127"

// sum (64 x 128) = or += a b^T over 16 columns of a (64 rows) and b (128 rows), both in shared memory.
__device__ __forceinline__ void multiply_columns(float (&sum)[64], std::uint64_t a, std::uint64_t b,
                                                 bool add) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" VOLTPILE_NAMES_64
        "}, %64, %65, add, 1, 1, 0, 0;\n"
        "}"
        : VOLTPILE_SUMS_32(sum, 0), VOLTPILE_SUMS_32(sum, 32)
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

// sum (64 rows) += a b for 16 columns of a, in registers as the elements of sum_row() and sum_column(). b is
// in shared memory: 16 rows of it, or, if transposed, 16 columns of its transpose.
template <bool transposed>
__device__ __forceinline__ void multiply(float (&sum)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" VOLTPILE_NAMES_32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, %37;"
                 : VOLTPILE_SUMS_32(sum, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(transposed ? 0 : 1));
}
template <bool transposed>
__device__ __forceinline__ void multiply(float (&sum)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" VOLTPILE_NAMES_64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, %69;"
                 : VOLTPILE_SUMS_32(sum, 0), VOLTPILE_SUMS_32(sum, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(transposed ? 0 : 1));
}
template <bool transposed>
__device__ __forceinline__ void multiply(float (&sum)[128], const std::uint32_t (&a)[4], std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" VOLTPILE_NAMES_128
                 "}, {%128, %129, %130, %131}, %132, 1, 1, 1, %133;"
                 : VOLTPILE_SUMS_32(sum, 0), VOLTPILE_SUMS_32(sum, 32), VOLTPILE_SUMS_32(sum, 64),
                   VOLTPILE_SUMS_32(sum, 96)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(transposed ? 0 : 1));
}

#undef VOLTPILE_SUMS_32
#undef VOLTPILE_NAMES_32
#undef VOLTPILE_NAMES_64
#undef VOLTPILE_NAMES_128

}  // namespace voltpile::llm
