#include "comm/mpi/wait_for_message.h"

#include <thread>

namespace voltpile {

Message wait_for_message(const Communicator& group, int tag, std::chrono::microseconds patience) {
    constexpr std::chrono::microseconds tick{100};  // between looks
    const auto sleep_from = std::chrono::steady_clock::now() + patience;
    for (;;) {
        if (auto message = group.poll(tag)) return std::move(*message);
        if (std::chrono::steady_clock::now() < sleep_from)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(tick);
    }
}

}  // namespace voltpile
