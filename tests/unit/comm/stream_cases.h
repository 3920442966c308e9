// Collectives with exactly known results, for host memory and for GPUs. Inputs are small whole numbers, which
// every type and every order of summing keeps exact. Whole memories are compared, so a byte written too far
// shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "comm/collective/stream_communicator.h"

namespace voltpile::stream_test {

enum class Call : int { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendReceive };
constexpr Call collective_calls[] = {Call::AllReduce, Call::AllGather, Call::ReduceScatter, Call::AllToAll,
                                     Call::Broadcast};

struct Case {
    Call call = Call::AllReduce;
    ElementType type = ElementType::Float32;
    Reduction reduction = Reduction::Sum;
    std::int64_t count = 1;
    bool in_place = false;
    int shift = 0;  // offset in elements from 16-byte alignment
    int root = 0;   // of Broadcast; the sender of SendReceive
    int to = 0;     // the receiver
    unsigned seed = 0;
};

// Two memories of the same size where the collectives work, and a stream.
class Place {
  public:
    virtual ~Place() = default;
    virtual StreamRef stream() = 0;
    virtual char* in() = 0;
    virtual char* out() = 0;
    virtual void write(const std::vector<char>& in, const std::vector<char>& out) = 0;  // enqueued
    virtual void read(std::vector<char>& in, std::vector<char>& out) = 0;               // waits
};

// A whole number from -8 to 8: element i of a rank's input.
inline int value_of(unsigned seed, int rank, std::int64_t i) {
    std::uint32_t h = seed * 2654435761u + static_cast<std::uint32_t>(rank) * 40503u +
                      static_cast<std::uint32_t>(i) * 2246822519u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return static_cast<int>(h % 17) - 8;
}

inline void put(char* at, ElementType type, int value) {
    const auto store = [at](auto v) { std::memcpy(at, &v, sizeof v); };
    switch (type) {
        case ElementType::Byte:
            return store(static_cast<std::int8_t>(value));
        case ElementType::Int32:
            return store(static_cast<std::int32_t>(value));
        case ElementType::Float16:
            return store(half_from_float(static_cast<float>(value)));
        case ElementType::Float32:
            return store(static_cast<float>(value));
        case ElementType::Float64:
            return store(static_cast<double>(value));
    }
}

// Many calls, laid out one after the other in the memories of a Place, with their expected results.
class Batch {
  public:
    Batch(int rank, int size, std::size_t bytes) : rank_(rank), size_(size), in_(bytes), out_(bytes) {
        for (std::size_t i = 0; i < bytes; ++i) in_[i] = out_[i] = static_cast<char>(0xa5 + i);
        in_after_ = in_;
        out_after_ = out_;
    }

    // Returns false if there is no room for it.
    bool add(Case c) {
        if (c.call == Call::AllToAll) c.in_place = false;
        const std::int64_t element = size_of(c.type);
        const std::int64_t whole = c.count * size_;
        const bool whole_in = c.call == Call::ReduceScatter || c.call == Call::AllToAll;
        const std::int64_t in_count = whole_in ? whole : c.count;
        const std::int64_t out_count = whole_out(c.call) ? whole : c.count;
        const std::int64_t room = (whole + c.shift) * element + 16;
        if (used_ + room > static_cast<std::int64_t>(in_.size())) return false;
        const std::int64_t at = used_ + c.shift * element;
        used_ = (used_ + room + 15) / 16 * 16;

        // In place, everything is in `out`: the larger of the two, with the smaller in it at the rank's part.
        Placed placed{c, at, at};
        if (c.in_place && c.call == Call::AllGather) placed.in_at += rank_ * c.count * element;
        if (c.in_place && c.call == Call::ReduceScatter) placed.out_at += rank_ * c.count * element;
        auto& in_before = c.in_place ? out_ : in_;
        auto& in_after = c.in_place ? out_after_ : in_after_;
        for (std::int64_t i = 0; i < in_count; ++i) {
            put(&in_before[static_cast<std::size_t>(placed.in_at + i * element)], c.type,
                value_of(c.seed, rank_, i));
            put(&in_after[static_cast<std::size_t>(placed.in_at + i * element)], c.type,
                value_of(c.seed, rank_, i));
        }
        if (c.call != Call::SendReceive || rank_ == c.to)
            for (std::int64_t i = 0; i < out_count; ++i)
                put(&out_after_[static_cast<std::size_t>(placed.out_at + i * element)], c.type,
                    result_of(c, i));
        calls_.push_back(placed);
        return true;
    }

    void load(Place& place) const { place.write(in_, out_); }

    // before: runs before each call, with the call's number.
    void enqueue(StreamCommunicator& comm, Place& place, const std::function<void(int)>& before = {}) const {
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (before) before(static_cast<int>(i));
            enqueue_one(comm, place, calls_[i]);
        }
    }

    // Returns what is wrong with the memories, empty if nothing.
    std::string check(Place& place) const {
        std::vector<char> in(in_.size()), out(out_.size());
        place.read(in, out);
        if (in == in_after_ && out == out_after_) return "";
        for (const Placed& placed : calls_) {
            const std::string what = difference(placed, out);
            if (!what.empty()) return what;
        }
        return in == in_after_ ? "written outside of the results" : "an input was changed";
    }

    std::size_t size() const { return calls_.size(); }

  private:
    struct Placed {
        Case c;
        std::int64_t in_at, out_at;
    };

    static bool whole_out(Call call) { return call == Call::AllGather || call == Call::AllToAll; }

    int result_of(const Case& c, std::int64_t i) const {
        if (c.call == Call::Broadcast || c.call == Call::SendReceive) return value_of(c.seed, c.root, i);
        if (c.call == Call::AllGather) return value_of(c.seed, static_cast<int>(i / c.count), i % c.count);
        if (c.call == Call::AllToAll)
            return value_of(c.seed, static_cast<int>(i / c.count), rank_ * c.count + i % c.count);
        const std::int64_t at = c.call == Call::ReduceScatter ? rank_ * c.count + i : i;
        int result = value_of(c.seed, 0, at);
        for (int r = 1; r < size_; ++r) {
            const int next = value_of(c.seed, r, at);
            result = c.reduction == Reduction::Sum ? result + next : std::max(result, next);
        }
        return result;
    }

    void enqueue_one(StreamCommunicator& comm, Place& place, const Placed& p) const {
        const Case& c = p.c;
        const char* in = (c.in_place ? place.out() : place.in()) + p.in_at;
        char* out = place.out() + p.out_at;
        switch (c.call) {
            case Call::AllReduce:
                return comm.all_reduce(in, out, c.count, c.type, c.reduction, place.stream());
            case Call::AllGather:
                return comm.all_gather(in, out, c.count, c.type, place.stream());
            case Call::ReduceScatter:
                return comm.reduce_scatter(in, out, c.count, c.type, c.reduction, place.stream());
            case Call::AllToAll:
                return comm.all_to_all(in, out, c.count, c.type, place.stream());
            case Call::Broadcast:
                return comm.broadcast(in, out, c.count, c.type, c.root, place.stream());
            case Call::SendReceive:
                if (c.root == c.to) return;
                if (rank_ == c.root) comm.send(in, c.count, c.type, c.to, place.stream());
                if (rank_ == c.to) comm.receive(out, c.count, c.type, c.root, place.stream());
        }
    }

    std::string difference(const Placed& p, const std::vector<char>& out) const {
        const Case& c = p.c;
        const std::int64_t bytes = c.count * size_of(c.type) * (whole_out(c.call) ? size_ : 1);
        for (std::int64_t i = 0; i < bytes; ++i)
            if (const auto at = static_cast<std::size_t>(p.out_at + i); out[at] != out_after_[at])
                return "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ": call " +
                       std::to_string(static_cast<int>(c.call)) + ", type " +
                       std::to_string(static_cast<int>(c.type)) + ", reduction " +
                       std::to_string(static_cast<int>(c.reduction)) + ", count " + std::to_string(c.count) +
                       (c.in_place ? ", in place" : "") + ", shift " + std::to_string(c.shift) + ", root " +
                       std::to_string(c.root) + ": byte " + std::to_string(i) + " differs";
        return "";
    }

    int rank_, size_;
    std::int64_t used_ = 0;
    std::vector<char> in_, out_, in_after_, out_after_;
    std::vector<Placed> calls_;
};

// The same on all ranks.
inline Case random_case(std::mt19937& random, int size, std::int64_t max_count, bool with_send = true) {
    const auto below = [&](std::uint32_t n) { return static_cast<int>(random() % n); };
    Case c;
    c.call = static_cast<Call>(below(with_send ? 6 : 5));
    const bool reduces = c.call == Call::AllReduce || c.call == Call::ReduceScatter;
    c.type = static_cast<ElementType>(reduces ? 1 + below(4) : below(5));
    c.reduction = static_cast<Reduction>(below(2));
    c.count = 1 + below(static_cast<std::uint32_t>(below(4) ? 300 : max_count));
    c.in_place = below(2) && c.call != Call::SendReceive;
    c.shift = below(2) ? below(9) : 0;
    c.root = below(static_cast<std::uint32_t>(size));
    c.to = below(static_cast<std::uint32_t>(size));
    if (c.call == Call::SendReceive && c.to == c.root) c.to = (c.root + 1) % size;
    c.seed = static_cast<unsigned>(random());
    return c;
}

}  // namespace voltpile::stream_test
