// make_stream_communicator(): picks an implementation for a group.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/host_name.h"
#include "comm/collective/cache.h"
#include "comm/collective/host_communicator.h"
#include "comm/collective/local.h"
#include "comm/collective/nccl_communicator.h"
#include "comm/collective/staged_communicator.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "comm/collective/selector.h"
#include "device/check.h"
#endif

namespace voltpile {
namespace {

void need_gpus_on_all_or_none(const Communicator& group, int device) {
    const auto all = group.all_gather((device < 0 ? "-" : "+") + host_name());
    for (std::size_t r = 0; r < all.size(); ++r)
        if (all[r][0] != all[0][0])
            throw CommError(fmt::format("of one group, rank 0 ({}) has {} GPU and rank {} ({}) has {}",
                                        all[0].substr(1), all[0][0] == '+' ? "a" : "no", r, all[r].substr(1),
                                        all[r][0] == '+' ? "one" : "none"));
}

#if VOLTPILE_CUDA

bool share_a_gpu(const Communicator& group, int device) {
    auto all = group.all_gather(host_name() + " " + device_info(device).pci_bus_id);
    std::ranges::sort(all);
    return std::ranges::adjacent_find(all) != all.end();
}

std::string driver_version() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    if (std::getline(file, version)) return version;
    int number = 0;
    cuda_check(cudaDriverGetVersion(&number), "asking for the driver's version");
    return fmt::format("CUDA {}", number);
}

// Returns the table from the file, or measures it and keeps it there. The same on all ranks.
CollectiveTable switch_over_sizes(const Communicator& group, CollectiveSelector& selector,
                                  const CollectiveCacheKey& key, const StreamOptions& options) {
    const auto folder = options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
    const auto file = folder.empty() ? folder : cache_file(folder, key);
    std::string known;
    if (group.rank() == 0 && options.use_cache && !file.empty())
        if (const auto table = load_table(file, key)) known = to_json(key, *table);
    known = group.broadcast(known, 0);
    if (!known.empty())
        if (const auto table = table_from_json(known, key)) return *table;
    const CollectiveTable table = selector.measure(group);
    if (group.rank() == 0 && !file.empty() && !save_table(file, key, table))
        spdlog::warn("cannot write the measured times of collectives to {}", file.string());
    return table;
}

std::unique_ptr<StreamCommunicator> make_on_gpus(const Communicator& group, int device,
                                                 const StreamOptions& options) {
    use_device(device);
    if (options.path == PathChoice::Staged)
        return std::make_unique<StagedCommunicator>(group, options.deadline_s);
    if (options.path == PathChoice::Nccl) return make_nccl_communicator(group, options.deadline_s);

    std::string why_not;
    std::unique_ptr<PeerCommunicator> peer;
    if (auto memory = PeerMemory::map(group, device, why_not))
        peer = std::make_unique<PeerCommunicator>(group, std::move(memory), options.deadline_s);
    if (options.path == PathChoice::Peer) {
        if (!peer) throw CommError("no collectives between these GPUs by peer access: " + why_not);
        return peer;
    }
    const bool with_nccl = nccl_on_all(group) && !share_a_gpu(group, device);
    if (!with_nccl && !peer) return std::make_unique<StagedCommunicator>(group, options.deadline_s);

    const CollectiveCacheKey key{group.broadcast(device_info(device).name, 0),
                                 group.broadcast(driver_version(), 0), with_nccl ? nccl_version() : "",
                                 group.size(),
                                 !peer                 ? "none"
                                 : peer->over_nvlink() ? "nvlink"
                                                       : "pcie"};
    auto selector = std::make_unique<CollectiveSelector>(
        with_nccl ? make_nccl_communicator(group, options.deadline_s) : nullptr, std::move(peer));
    if (key.links != "none") selector->set_table(switch_over_sizes(group, *selector, key, options));
    return selector;
}

#endif

}  // namespace

std::unique_ptr<StreamCommunicator> make_stream_communicator(const Communicator& group, int device,
                                                             const StreamOptions& options) {
    need_gpus_on_all_or_none(group, device);
    if (group.size() == 1) return std::make_unique<LocalCommunicator>();
    if (device < 0) return std::make_unique<HostCommunicator>(group, options.deadline_s);
#if VOLTPILE_CUDA
    return make_on_gpus(group, device, options);
#else
    throw DeviceError(fmt::format("GPU {}: this program was built without CUDA", device));
#endif
}

}  // namespace voltpile
