#include "base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/bind_thread.h"

namespace voltpile {

void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t begin, std::size_t end)>& work) {
    const std::size_t parts = std::min(count, std::max<std::size_t>(threads, 1));
    std::vector<std::jthread> others;
    for (std::size_t part = 1; part < parts; ++part)
        others.emplace_back([&work, count, parts, part] {
            bind_this_thread(-1);  // the calling thread may be bound to its core
            work(count * part / parts, count * (part + 1) / parts);
        });
    if (parts > 0) work(0, count / parts);
}

}  // namespace voltpile
