#include "comm/mpi/measure_links.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/seconds_since.h"
#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

constexpr int ring_rounds = 10, least_pings = 3;
constexpr std::size_t window = 16;  // messages in flight
constexpr int first_message = 16 << 10, largest_message = 4 << 20;

using Clock = std::chrono::steady_clock;

void check(int code, const char* call) {
    if (code != MPI_SUCCESS) throw CommError(std::string(call) + " failed while measuring the links");
}

void send(int to, int tag, int value) {
    check(MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD), "MPI_Send");
}

int receive(int from, int tag) {
    int value = 0;
    check(MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    return value;
}

// Sleeps between looks, because a measured pair may need the core.
Message wait_for(const Communicator& world, int tag) {
    while (true) {
        if (auto message = world.poll(tag)) return *message;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
}

template <class Value>
std::string pack(const Value& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class Value>
Value unpack(const std::string& bytes) {
    if (bytes.size() != sizeof(Value))
        throw CommError("a message of unexpected length while measuring the links");
    Value value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

// ---- the ring ----

// Returns the mean time of a hop, on rank 0.
double ring_hop_us(const Communicator& world) {
    const int next = (world.rank() + 1) % world.size(),
              previous = (world.rank() + world.size() - 1) % world.size();
    const auto round = [&] {
        if (world.rank() == 0) {
            send(next, kLinkDataTag, 0);
            receive(previous, kLinkDataTag);
        } else {
            send(next, kLinkDataTag, receive(previous, kLinkDataTag));
        }
    };
    round();  // opens the connections
    const auto begin = Clock::now();
    for (int i = 0; i < ring_rounds; ++i) round();
    return seconds_since(begin) / (ring_rounds * world.size()) * 1e6;
}

// ---- latency ----

double latency_us(int partner, double seconds) {
    const auto ping = [&] {
        const auto begin = Clock::now();
        send(partner, kLinkDataTag, 1);
        receive(partner, kLinkDataTag);
        return seconds_since(begin);
    };
    ping();  // opens the connection
    const double first = ping();
    const int repetitions = std::clamp(static_cast<int>(seconds / std::max(first, 1e-7)), least_pings, 1000);
    std::vector<double> times;
    const auto begin = Clock::now();
    // On a busy node the first may be the only quick one.
    for (int i = 0; i < repetitions && (i < least_pings || seconds_since(begin) < seconds); ++i)
        times.push_back(ping());
    send(partner, kLinkDataTag, 0);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle / 2 * 1e6;
}

void answer_pings(int partner) {
    while (receive(partner, kLinkDataTag) != 0) send(partner, kLinkDataTag, 1);
}

// ---- bandwidth ----

using Buffers = std::vector<std::vector<char>>;

// Sends `window` messages and waits until the partner has them. Returns seconds.
double send_window(int partner, int length, const std::vector<char>& buffer) {
    std::array<MPI_Request, window> requests{};
    const auto begin = Clock::now();
    send(partner, kLinkHeaderTag, length);
    for (auto& request : requests)
        check(MPI_Isend(buffer.data(), length, MPI_BYTE, partner, kLinkDataTag, MPI_COMM_WORLD, &request),
              "MPI_Isend");
    check(MPI_Waitall(static_cast<int>(window), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    receive(partner, kLinkReplyTag);
    return seconds_since(begin);
}

// Returns bytes per second to the partner. The amount grows until it takes long enough: the first bytes of a
// connection travel more slowly (TCP's slow start) or faster (a rate limiter's burst) than the rest.
double measure_sending(int partner, double seconds, double latency_s) {
    const std::vector<char> buffer(largest_message, 'v');
    double rate = 0;
    for (int length = first_message; length <= largest_message; length *= 4) {
        const double elapsed = send_window(partner, length, buffer);
        rate = static_cast<double>(window) * length / std::max(elapsed - latency_s, elapsed / 4);
        if (elapsed > seconds / 2) break;
    }
    send(partner, kLinkHeaderTag, 0);
    return rate;
}

void receive_all(int partner) {
    Buffers buffers;
    while (const int length = receive(partner, kLinkHeaderTag)) {
        buffers.assign(window, std::vector<char>(static_cast<std::size_t>(length)));
        std::array<MPI_Request, window> requests{};
        for (std::size_t i = 0; i < window; ++i)
            check(MPI_Irecv(buffers[i].data(), length, MPI_BYTE, partner, kLinkDataTag, MPI_COMM_WORLD,
                            &requests[i]),
                  "MPI_Irecv");
        check(MPI_Waitall(static_cast<int>(window), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        send(partner, kLinkReplyTag, 0);
    }
}

// ---- one pair ----

struct Order {
    int leader = -1, follower = -1;  // leader < 0: all pairs are done
};

struct Result {
    int is_bandwidth = 0;
    double first = 0, second = 0;
};

template <class Report>
void lead(int follower, double seconds, const Report& report) {
    const double latency = latency_us(follower, seconds / 4);
    report(Result{0, latency, 0});
    const double forth = measure_sending(follower, seconds / 2, latency / 1e6);
    receive_all(follower);
    const std::string back = [&] {
        std::string bytes(sizeof(double), '\0');
        check(MPI_Recv(bytes.data(), sizeof(double), MPI_BYTE, follower, kLinkReplyTag, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
        return bytes;
    }();
    report(Result{1, forth, unpack<double>(back)});
}

void follow(const Communicator& world, int leader, double seconds) {
    answer_pings(leader);
    receive_all(leader);
    // The leader's latency is unknown here; sending in the other direction takes the same time.
    world.send(leader, kLinkReplyTag, pack(measure_sending(leader, seconds / 2, 0)));
}

// Runs the pairs one after the other, on rank 0.
class Coordinator {
  public:
    Coordinator(const Communicator& world, const LinkSeconds& seconds, const LinkListener& listener)
        : world_(world), seconds_(seconds.each_pair), limit_s_(seconds.all_pairs), listener_(listener) {}

    void measure_all() {
        const auto start = Clock::now();
        for (int a = 0; a < world_.size(); ++a)
            for (int b = a + 1; b < world_.size(); ++b)
                if (seconds_since(start) < limit_s_) measure(a, b);
        const auto begin = Clock::now();
        for (int repetition = 0; repetition < repetitions; ++repetition) {
            const double usual = usual_rate();
            const auto before = rates_;
            for (const auto& [pair, rates] : before)
                if (is_suspicious(rates, usual) && seconds_since(begin) < repetition_limit_s &&
                    seconds_since(start) < limit_s_)
                    measure(pair.first, pair.second);
        }
        for (int rank = 1; rank < world_.size(); ++rank) world_.send(rank, kLinkOrderTag, pack(Order{}));
    }

  private:
    using Rates = std::pair<double, double>;  // forth and back

    // A host that is busy for a moment looks like a bad cable, so a bad-looking pair is measured again.
    static constexpr int repetitions = 5;
    static constexpr double suspicious = 2;  // times slower than usual, or than the other direction
    static constexpr double repetition_limit_s = 10;

    static bool is_suspicious(const Rates& rates, double usual) {
        const auto [slower, faster] = std::minmax(rates.first, rates.second);
        return slower * suspicious < std::max(usual, faster);
    }

    double usual_rate() const {
        std::vector<double> all;
        for (const auto& [pair, rates] : rates_) all.push_back(std::min(rates.first, rates.second));
        std::ranges::sort(all);
        return all.empty() ? 0 : all[all.size() * 3 / 4];
    }

    void measure(int a, int b) {
        listener_.begin(a, b);
        const std::string order = pack(Order{a, b});
        world_.send(b, kLinkOrderTag, order);
        if (a == 0) {
            lead(b, seconds_, [&](const Result& result) { take(a, b, result); });
            return;
        }
        world_.send(a, kLinkOrderTag, order);
        for (int i = 0; i < 2; ++i) take(a, b, unpack<Result>(wait_for(world_, kLinkResultTag).bytes));
    }

    void take(int a, int b, const Result& result) {
        if (!result.is_bandwidth) return listener_.latency(a, b, result.first);
        listener_.bandwidth(a, b, result.first, result.second);
        Rates& best = rates_[{a, b}];
        best = {std::max(best.first, result.first), std::max(best.second, result.second)};
    }

    const Communicator& world_;
    double seconds_, limit_s_;
    const LinkListener& listener_;
    std::map<std::pair<int, int>, Rates> rates_;
};

void obey(const Communicator& world, double seconds) {
    while (true) {
        const Order order = unpack<Order>(wait_for(world, kLinkOrderTag).bytes);
        if (order.leader < 0) return;
        if (order.leader == world.rank())
            lead(order.follower, seconds,
                 [&](const Result& result) { world.send(0, kLinkResultTag, pack(result)); });
        else
            follow(world, order.leader, seconds);
    }
}

}  // namespace

void probe_links(const MpiSession& mpi, const LinkSeconds& seconds, const LinkListener& listener) {
    const Communicator& world = mpi.world();
    if (world.size() < 2) return;
    const double hop = ring_hop_us(world);
    if (world.rank() == 0) {
        listener.ring(hop);
        Coordinator(world, seconds, listener).measure_all();
    } else {
        obey(world, seconds.each_pair);
    }
}

}  // namespace voltpile
