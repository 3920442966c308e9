// integer_product with tile registers in software: what surrounds the instructions of AMX, for processors
// without them. Compiled like the kernels of CpuLevel::Avx512.
#include "llm/software_tiles.h"

#include "llm/ops/cpu/integer_product.h"

namespace voltpile::llm {
namespace {

class SoftwareTiles {
  public:
    static constexpr bool usable = true;
    explicit SoftwareTiles(int columns) : columns_(columns) {}
    void release() {}

    template <int set>
    void multiply(const std::int8_t* x, std::int64_t x_stride, const std::uint8_t* weights,
                  std::int64_t weights_stride, TileSums& to) const {
        for (int r = 0; r < tile_rows; ++r) {
            for (int lane = 0; lane < lane_count; ++lane) {
                to.of_row[r][lane] = 0;
                for (int c = 0; c < columns_; ++c)
                    to.of_row[r][lane] +=
                        x[r * x_stride + c] * weights[c / 4 * weights_stride + 4 * lane + c % 4];
            }
        }
    }

  private:
    int columns_;
};

}  // namespace

void software_tile_product(const Product& p) {
    integer_product<SoftwareTiles>(p);
}

}  // namespace voltpile::llm
