#include "work/work_range.h"

#include "base/format.h"

namespace voltpile {

std::string points_text(std::int64_t count) {
    return count_text(count) + (count == 1 ? " point" : " points");
}

}  // namespace voltpile
