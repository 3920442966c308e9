#include "comm/collective/enqueue.h"

#include <algorithm>
#include <cstring>

namespace voltpile {

void enqueue_collective(StreamCommunicator& by, Collective collective, char* in, char* out,
                        std::int64_t bytes, const Stream& stream) {
    const std::int64_t count = bytes / 4;
    switch (collective) {
        case Collective::AllReduce:
            return by.all_reduce(in, out, count, ElementType::Float32, Reduction::Sum, stream);
        case Collective::AllGather:
            return by.all_gather(in, out, count, ElementType::Float32, stream);
        case Collective::ReduceScatter:
            return by.reduce_scatter(in, out, count, ElementType::Float32, Reduction::Sum, stream);
        case Collective::AllToAll:
            return by.all_to_all(in, out, count, ElementType::Float32, stream);
        case Collective::Broadcast:
            return by.broadcast(in, out, count, ElementType::Float32, 0, stream);
    }
}

double slowest_of(const Communicator& group, double seconds) {
    std::string bytes(sizeof seconds, '\0');
    std::memcpy(bytes.data(), &seconds, sizeof seconds);
    for (const std::string& each : group.all_gather(bytes)) {
        double theirs = 0;
        std::memcpy(&theirs, each.data(), sizeof theirs);
        seconds = std::max(seconds, theirs);
    }
    return seconds;
}

}  // namespace voltpile
