#include "llm/ops/cuda/sm90/int8_product.cuh"

#include <stdexcept>

namespace voltpile::llm {

namespace {

template <class Shape>
void launch_product(const Int8Args& args, const Stream& stream) {
    const auto kernel = args.tiles.matmul.gated ? int8_product<true, Shape> : int8_product<false, Shape>;
    constexpr std::size_t bytes = sizeof(Int8Shared<Shape>);
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "shared memory of a product of integers");
    launch_early("product of integers", kernel,
                 {args.tiles.pieces * args.tiles.matmul.workers, int8_threads, bytes}, stream, args);
}

}  // namespace

// All blocks run at once also in pairs: a pair has the two multiprocessors of a TPC.
void launch_int8_by_warpgroups(const Int8Args& args, int piece_rows, const Stream& stream) {
    switch (piece_rows) {
        case 32:
            return launch_product<Int8Shape<32, 1>>(args, stream);
        case 64:
            return launch_product<Int8Shape<64, 1>>(args, stream);
        case 96:
            return launch_product<Int8Shape<96, 1>>(args, stream);
        case 128:
            return launch_product<Int8Shape<128, 1>>(args, stream);
        case 160:
            return launch_product<Int8Shape<160, 1>>(args, stream);
        case 192:
            return launch_product<Int8Shape<192, 1>>(args, stream);
        case 224:
            return launch_product<Int8Shape<224, 1>>(args, stream);
        case 256:
            return launch_product<Int8Shape<256, 1>>(args, stream);
        default:
            throw std::logic_error("no product of integers has pieces of so many rows");
    }
}

}  // namespace voltpile::llm
