#include "run/watch_links.h"

#include <algorithm>
#include <utility>

#include "base/link_fault.h"
#include "base/message_bytes.h"
#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

Communicator link_of_watchdogs(const Communicator& world) {
    Communicator link = world.split(0);
    link.set_own_thread();
    return link;
}

}  // namespace

std::string WatchSign::to_bytes() const {
    MessageWriter writer;
    writer.value(ends);
    writer.value(phases);
    writer.list(gone);
    return writer.take();
}

WatchSign WatchSign::from_bytes(const std::string& bytes) {
    MessageReader reader(bytes, "a sign of life");
    WatchSign sign;
    sign.ends = reader.value<bool>();
    sign.phases = reader.value<PhaseStates>();
    sign.gone = reader.list<int>();
    reader.end();
    return sign;
}

WatchLinks::WatchLinks(const Communicator& world) : link_(link_of_watchdogs(world)) {}

WatchLinks::~WatchLinks() {
    if (!sent_.empty()) new std::deque<Sent>(std::move(sent_));
}

bool WatchLinks::all_sent() {
    std::erase_if(sent_, [](Sent& sent) {
        int done = 0;
        return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
    });
    return sent_.empty();
}

void WatchLinks::send(int to, const WatchSign& sign) {
    all_sent();
    if (!sign.ends && std::ranges::find(sent_, to, &Sent::to) != sent_.end()) return;
    if (message_lost()) return;
    auto bytes = std::make_unique<const std::string>(sign.to_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(bytes->data(), mpi_length(*bytes), MPI_BYTE, to, kLifeTag, link_.mpi(), &request) ==
        MPI_SUCCESS)
        sent_.push_back({request, std::move(bytes), to});
}

std::optional<Message> WatchLinks::poll() const {
    return link_.poll(kLifeTag);
}

}  // namespace voltpile
