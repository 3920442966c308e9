#include "comm/collective/staged_communicator.h"

#if VOLTPILE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/format.h"
#include "comm/collective/staged_wait.h"
#include "device/capture.h"
#include "device/check.h"

namespace voltpile {
namespace {

constexpr std::int64_t part_bytes = 1 << 20;

// Calls step(begin, length) for pieces of at most part_bytes that end between elements.
template <class Step>
void for_pieces(std::int64_t count, ElementType type, Step step) {
    const std::int64_t most = part_bytes / size_of(type);
    for (std::int64_t begin = 0; begin < count; begin += most) step(begin, std::min(most, count - begin));
}

// Copies `rows` parts of `bytes` each, from every `from_stride` bytes to every `to_stride` bytes.
void copy_parts(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                std::int64_t bytes, int rows, const Stream& stream) {
    cuda_check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride), from,
                                 static_cast<std::size_t>(from_stride), static_cast<std::size_t>(bytes),
                                 static_cast<std::size_t>(rows), cudaMemcpyDefault, stream.get()),
               "copying between GPU and host");
}

const char* at(const void* base, std::int64_t begin, ElementType type) {
    return static_cast<const char*>(base) + begin * size_of(type);
}
char* at(void* base, std::int64_t begin, ElementType type) {
    return static_cast<char*>(base) + begin * size_of(type);
}

}  // namespace

StagedCommunicator::StagedCommunicator(const Communicator& group, double deadline_s)
    : watch_(deadline_s),
      host_(group, deadline_s),
      group_(host_.group()),
      down_(static_cast<std::size_t>(part_bytes * group.size())),
      up_(down_.size()),
      state_(2),
      begun_(1) {
    host_.set_own_thread();
    state_.data()[0] = state_.data()[1] = 0;
    cuda_check(cudaMemset(begun_.data(), 0, begun_.bytes()), "clearing a counter");
    cuda_check(cudaDeviceSynchronize(), "clearing a counter");
    thread_ = std::thread([this] { serve(); });
}

StagedCommunicator::~StagedCommunicator() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (!host_.left_unfinished()) return;
    new PinnedBuffer<char>(std::move(down_));
    new PinnedBuffer<char>(std::move(up_));
}

void StagedCommunicator::fail(const std::string& why) noexcept {
    group_.fail(why);
    std::atomic_ref(state_.data()[1]).store(1);
}

void StagedCommunicator::serve() {
    for (;;) {
        Job* job = nullptr;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stop_ || !posted_.empty(); });
            if (posted_.empty()) return;
            job = posted_.front();
            posted_.pop_front();
        }
        try {
            if (!group_.failed()) job->work();
        } catch (const Error& e) {
            fail(e.what());
        }
        if (!job->again) delete job;
        std::atomic_ref done(state_.data()[0]);
        done.store(done.load() + 1);
    }
}

// Runs on CUDA's own thread, which must not wait: several communicators share it.
void StagedCommunicator::post(void* job) {
    StagedCommunicator* self = static_cast<Job*>(job)->owner;
    {
        const std::lock_guard lock(self->mutex_);
        self->posted_.push_back(static_cast<Job*>(job));
    }
    self->changed_.notify_all();
}

void StagedCommunicator::enqueue(std::function<void()> work, const Stream& stream) {
    auto job = std::make_unique<Job>(Job{this, std::move(work), captures(stream)});
    cuda_check(cudaLaunchHostFunc(stream.get(), post, job.get()), "enqueueing work of the host");
    if (job->again)
        of_graphs_.push_back(std::move(job));
    else
        static_cast<void>(job.release());  // serve() deletes it
    launch_wait_for_host(state_.data(), state_.data() + 1, begun_.data(), stream);
}

void StagedCommunicator::all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                                    Reduction reduction, StreamRef ref) {
    if (!group_.begin_reduction(count, type)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        const auto bytes = static_cast<std::size_t>(length * size_of(type));
        copy_to_host(down_.data(), at(in, begin, type), bytes, stream);
        enqueue(
            [=, this] {
                host_.all_reduce(down_.data(), up_.data(), length, type, reduction, StreamRef::host());
            },
            stream);
        copy_to_device(at(out, begin, type), up_.data(), bytes, stream);
    });
}

void StagedCommunicator::all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                                    StreamRef ref) {
    if (!group_.begin(count)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        const std::int64_t bytes = length * size_of(type);
        copy_to_host(down_.data(), at(in, begin, type), static_cast<std::size_t>(bytes), stream);
        enqueue([=, this] { host_.all_gather(down_.data(), up_.data(), length, type, StreamRef::host()); },
                stream);
        copy_parts(at(out, begin, type), count * size_of(type), up_.data(), bytes, bytes, size(), stream);
    });
}

void StagedCommunicator::reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                        Reduction reduction, StreamRef ref) {
    if (!group_.begin_reduction(count, type)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        const std::int64_t bytes = length * size_of(type);
        copy_parts(down_.data(), bytes, at(in, begin, type), count * size_of(type), bytes, size(), stream);
        enqueue(
            [=, this] {
                host_.reduce_scatter(down_.data(), up_.data(), length, type, reduction, StreamRef::host());
            },
            stream);
        copy_to_device(at(out, begin, type), up_.data(), static_cast<std::size_t>(bytes), stream);
    });
}

void StagedCommunicator::all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                                    StreamRef ref) {
    if (!group_.begin(count)) return;
    const Stream& stream = ref.stream();
    const std::int64_t stride = count * size_of(type);
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        const std::int64_t bytes = length * size_of(type);
        copy_parts(down_.data(), bytes, at(in, begin, type), stride, bytes, size(), stream);
        enqueue([=, this] { host_.all_to_all(down_.data(), up_.data(), length, type, StreamRef::host()); },
                stream);
        copy_parts(at(out, begin, type), stride, up_.data(), bytes, bytes, size(), stream);
    });
}

void StagedCommunicator::broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                                   StreamRef ref) {
    if (!group_.begin_with_peer(count, root)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        const auto bytes = static_cast<std::size_t>(length * size_of(type));
        if (rank() == root) copy_to_host(down_.data(), at(in, begin, type), bytes, stream);
        enqueue(
            [=, this] { host_.broadcast(down_.data(), up_.data(), length, type, root, StreamRef::host()); },
            stream);
        if (rank() != root || in != out) copy_to_device(at(out, begin, type), up_.data(), bytes, stream);
    });
}

void StagedCommunicator::send(const void* in, std::int64_t count, ElementType type, int to, StreamRef ref) {
    if (!group_.begin_with_peer(count, to)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        copy_to_host(down_.data(), at(in, begin, type), static_cast<std::size_t>(length * size_of(type)),
                     stream);
        enqueue([=, this] { host_.send(down_.data(), length, type, to, StreamRef::host()); }, stream);
    });
}

void StagedCommunicator::receive(void* out, std::int64_t count, ElementType type, int from, StreamRef ref) {
    if (!group_.begin_with_peer(count, from)) return;
    const Stream& stream = ref.stream();
    for_pieces(count, type, [&](std::int64_t begin, std::int64_t length) {
        enqueue([=, this] { host_.receive(up_.data(), length, type, from, StreamRef::host()); }, stream);
        copy_to_device(at(out, begin, type), up_.data(), static_cast<std::size_t>(length * size_of(type)),
                       stream);
    });
}

void StagedCommunicator::check() {
    // Once the group has failed, streams come free without their work being done. (It may fail in between:
    // watched() then counts that work as finished.)
    if (!group_.failed() && watch_.late())
        fail(fmt::format("a collective with {} did not finish within {}", group_.others_text(),
                         duration_text(watch_.deadline_s())));
    if (!group_.failed()) return;
    fail("");  // here, too
    throw CommError(group_.failure_text());
}

void StagedCommunicator::abort() noexcept {
    fail("");
}

}  // namespace voltpile

#endif
