#include "comm/collective/nccl_communicator.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"

namespace voltpile {

bool nccl_on_all(const Communicator& group) {
    return std::ranges::none_of(group.all_gather(nccl_version()), &std::string::empty);
}

}  // namespace voltpile

#if VOLTPILE_NCCL

#include <fmt/format.h>
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/format.h"
#include "base/host_name.h"
#include "comm/collective/group.h"
#include "comm/collective/nccl_functions.h"
#include "comm/collective/watch.h"

namespace voltpile {
namespace {

using Clock = std::chrono::steady_clock;

// NCCL takes seconds to start, and connects at the first call of each kind; the deadline may be shorter.
constexpr double least_limit_s = 30;

ncclDataType_t nccl_type(ElementType type) {
    constexpr ncclDataType_t types[] = {ncclUint8, ncclInt32, ncclFloat16, ncclFloat32, ncclFloat64};
    return types[static_cast<int>(type)];
}

ncclRedOp_t nccl_op(Reduction reduction) {
    return reduction == Reduction::Sum ? ncclSum : ncclMax;
}

class NcclCommunicator final : public StreamCommunicator {
  public:
    NcclCommunicator(const Communicator& group, double deadline_s) : group_(group), watch_(deadline_s) {
        setenv("NCCL_NVLS_ENABLE", "0", 1);
        ncclUniqueId id{};
        std::string bytes;
        if (rank() == 0) {
            const ncclResult_t made = ncclGetUniqueId(&id);
            if (made == ncclSuccess) bytes.assign(id.internal, sizeof id.internal);
        }
        bytes = group.broadcast(bytes, 0);
        if (bytes.size() != sizeof id.internal)
            throw CommError(fmt::format("NCCL cannot start on {}", group_.rank_text(0)));
        std::memcpy(id.internal, bytes.data(), bytes.size());
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        const std::unique_lock lock(mutex_);
        finish(ncclCommInitRankConfig(&comm_, size(), id, rank(), &config), "starting NCCL");
    }

    ~NcclCommunicator() override {
        const std::lock_guard lock(mutex_);
        if (!comm_) return;
        ncclResult_t state = ncclCommFinalize(comm_);
        const auto end = Clock::now() + std::chrono::seconds(5);
        while (state == ncclInProgress && Clock::now() < end) {
            std::this_thread::yield();
            if (ncclCommGetAsyncError(comm_, &state) != ncclSuccess) break;
        }
        if (state == ncclSuccess)
            ncclCommDestroy(comm_);
        else
            ncclCommAbort(comm_);  // a peer is gone, so NCCL must not wait for it
    }

    int rank() const override { return group_.rank(); }
    int size() const override { return group_.size(); }

    void all_reduce(const void* in, void* out, std::int64_t count, ElementType type, Reduction reduction,
                    StreamRef stream) override {
        if (!group_.begin_reduction(count, type)) return;
        call("ncclAllReduce", [&] {
            return ncclAllReduce(in, out, static_cast<std::size_t>(count), nccl_type(type),
                                 nccl_op(reduction), comm_, stream.stream().get());
        });
    }
    void all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override {
        if (!group_.begin(count)) return;
        call("ncclAllGather", [&] {
            return ncclAllGather(in, out, static_cast<std::size_t>(count), nccl_type(type), comm_,
                                 stream.stream().get());
        });
    }
    void reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type, Reduction reduction,
                        StreamRef stream) override {
        if (!group_.begin_reduction(count, type)) return;
        call("ncclReduceScatter", [&] {
            return ncclReduceScatter(in, out, static_cast<std::size_t>(count), nccl_type(type),
                                     nccl_op(reduction), comm_, stream.stream().get());
        });
    }
    void all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override {
        if (!group_.begin(count)) return;
        call("ncclSend and ncclRecv", [&] {
            const std::int64_t bytes = count * size_of(type);
            const auto exchange_with = [&](int peer) {
                const ncclResult_t sent =
                    ncclSend(static_cast<const char*>(in) + peer * bytes, static_cast<std::size_t>(count),
                             nccl_type(type), peer, comm_, stream.stream().get());
                if (sent != ncclSuccess && sent != ncclInProgress) return sent;
                return ncclRecv(static_cast<char*>(out) + peer * bytes, static_cast<std::size_t>(count),
                                nccl_type(type), peer, comm_, stream.stream().get());
            };
            ncclResult_t state = ncclGroupStart();
            for (int peer = 0; peer < size() && (state == ncclSuccess || state == ncclInProgress); ++peer)
                state = exchange_with(peer);
            const ncclResult_t end = ncclGroupEnd();
            return state == ncclSuccess || state == ncclInProgress ? end : state;
        });
    }
    void broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                   StreamRef stream) override {
        if (!group_.begin_with_peer(count, root)) return;
        call("ncclBroadcast", [&] {
            return ncclBroadcast(in, out, static_cast<std::size_t>(count), nccl_type(type), root, comm_,
                                 stream.stream().get());
        });
    }
    void send(const void* in, std::int64_t count, ElementType type, int to, StreamRef stream) override {
        if (!group_.begin_with_peer(count, to)) return;
        call("ncclSend", [&] {
            return ncclSend(in, static_cast<std::size_t>(count), nccl_type(type), to, comm_,
                            stream.stream().get());
        });
    }
    void receive(void* out, std::int64_t count, ElementType type, int from, StreamRef stream) override {
        if (!group_.begin_with_peer(count, from)) return;
        call("ncclRecv", [&] {
            return ncclRecv(out, static_cast<std::size_t>(count), nccl_type(type), from, comm_,
                            stream.stream().get());
        });
    }

    void watch(StreamRef stream) override { watch_.watch(stream.stream()); }
    WatchedWork watched() const override { return watch_.watched(); }

    void check() override {
        const std::lock_guard lock(mutex_);
        if (group_.failed()) give_up("");
        ncclResult_t state = ncclSuccess;
        if (ncclCommGetAsyncError(comm_, &state) != ncclSuccess ||
            (state != ncclSuccess && state != ncclInProgress))
            give_up("NCCL", state);
        if (watch_.late())
            give_up(fmt::format("a collective with {} did not finish within {}", group_.others_text(),
                                duration_text(watch_.deadline_s())));
    }

    void abort() noexcept override {
        group_.fail();  // a call in progress sees this and releases the lock
        const std::lock_guard lock(mutex_);
        drop("");
    }

    std::string describe() const override { return "NCCL " + nccl_version() + " for all sizes"; }

  private:
    template <class Function>
    void call(const char* name, Function function) {
        std::unique_lock lock(mutex_);
        if (group_.failed()) give_up("");
        finish(function(), name);
    }

    // NCCL enqueues in the background, and the next operation on the stream must not overtake it. Waits for
    // the enqueueing, not for the stream.
    void finish(ncclResult_t state, const char* doing) {
        const auto end =
            Clock::now() + std::chrono::duration<double>(std::max(watch_.deadline_s(), least_limit_s));
        while (state == ncclInProgress) {
            if (ncclCommGetAsyncError(comm_, &state) != ncclSuccess) state = ncclInternalError;
            if (state != ncclInProgress) break;
            std::this_thread::yield();  // NCCL's thread may be bound to the same core
            if (group_.failed() || Clock::now() > end)
                give_up(fmt::format("{}: no answer from {}", doing, group_.others_text()));
        }
        if (state != ncclSuccess) give_up(doing, state);
    }

    [[noreturn]] void give_up(const char* doing, ncclResult_t state) {
        const std::string detail = comm_ ? ncclGetLastError(comm_) : "";
        give_up(fmt::format("{} with {}: {}{}{}", doing, group_.others_text(), ncclGetErrorString(state),
                            detail.empty() ? "" : ": ", detail));
    }
    [[noreturn]] void give_up(const std::string& why) {
        drop(why);
        throw CommError(group_.failure_text());
    }
    // Tell the others first: their kernels may take what NCCL releases for data.
    void drop(const std::string& why) noexcept {
        group_.fail(why);
        if (comm_) ncclCommAbort(comm_);
        comm_ = nullptr;
    }

    CollectiveGroup group_;
    CollectiveWatch watch_;
    std::mutex mutex_;  // never held for long, because NCCL's calls do not wait
    ncclComm_t comm_ = nullptr;
};

}  // namespace

std::string nccl_version() {
    if (!nccl_loads()) return "";
    int version = 0;
    if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<StreamCommunicator> make_nccl_communicator(const Communicator& group, double deadline_s) {
    for (const std::string& without : group.all_gather(nccl_loads() ? "" : host_name()))
        if (!without.empty())
            throw CommError(fmt::format("cannot load NCCL on {}: install libnccl.so.2", without));
    return std::make_unique<NcclCommunicator>(group, deadline_s);
}

}  // namespace voltpile

#else

namespace voltpile {

std::string nccl_version() {
    return "";
}

std::unique_ptr<StreamCommunicator> make_nccl_communicator(const Communicator&, double) {
    throw CommError("this program was built without NCCL");
}

}  // namespace voltpile

#endif
