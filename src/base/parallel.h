// Runs short work on several threads of this process at once, on any processor that it may use.
#pragma once

#include <cstddef>
#include <functional>

namespace voltpile {

// Calls work(begin, end) for about equal parts of 0 .. count on at most `threads` threads, including the
// calling one, and returns when all are done. work must not throw.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace voltpile
