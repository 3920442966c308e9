// Short work on several threads of this process at once, wherever it may run.
#pragma once

#include <cstddef>
#include <functional>

namespace voltpile {

// work(begin, end) for about equal parts of 0 .. count, on at most `threads` threads, the calling one among
// them; returns when all are done. work does not throw.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace voltpile
