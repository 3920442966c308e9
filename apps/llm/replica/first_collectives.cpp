#include "llm/replica/first_collectives.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/buffer.h"
#include "llm/decoder/head_exchange.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::milliseconds tick{1};  // between checks whether the collectives are done

// Calls `collective` with counts from `least` to `most`, doubling each time.
template <class Function>
void at_growing_sizes(std::int64_t least, std::int64_t most, Function&& collective) {
    for (std::int64_t count = least; count < most; count *= 2) collective(count);
    collective(most);
}

}  // namespace

void do_first_collectives(const TeamContext& teams, const ModelConfig& config, const ReplicaPlan& plan) {
    const ReplicaRequest& request = plan.request;
    StreamCommunicator& tensor = teams.tensor();
    const std::int64_t ranks = tensor.size();
    const std::int64_t sums = request.rows * config.hidden;
    const std::int64_t words = (config.vocab + ranks - 1) / ranks;
    const std::int64_t completed = (request.rows + ranks - 1) / ranks * config.hidden;
    const std::int64_t gathered =
        std::max(completed, teams.last_stage() ? request.limits().logits * words : 0);
    const std::int64_t exchanged =  // of fp16
        plan.rows_to_cut > 0 ? head_exchange_shape(config, tensor.rank(), tensor.size(), request.rows).part()
                             : 0;
    const Stream stream;
    DeviceBuffer<float> in(static_cast<std::size_t>(std::max({sums, gathered, exchanged * ranks / 2 + 1})));
    DeviceBuffer<float> out(static_cast<std::size_t>(std::max(gathered, exchanged / 2 + 1) * ranks));
    set_to_zero(in.data(), in.bytes(), stream);
    at_growing_sizes(config.hidden, sums, [&](std::int64_t count) {
        tensor.all_reduce(in.data(), in.data(), count, ElementType::Float32, Reduction::Sum, stream);
    });
    at_growing_sizes(std::min(words, config.hidden), gathered, [&](std::int64_t count) {
        tensor.all_gather(in.data(), out.data(), count, ElementType::Float32, stream);
    });
    if (exchanged > 0)
        at_growing_sizes(std::min(exchanged, config.head_dim), exchanged, [&](std::int64_t count) {
            tensor.all_to_all(in.data(), out.data(), count, ElementType::Float16, stream);
        });
    tensor.watch(stream);
    while (!stream.idle()) {
        teams.check();
        std::this_thread::sleep_for(tick);
    }
    teams.check();
}

}  // namespace voltpile::llm
