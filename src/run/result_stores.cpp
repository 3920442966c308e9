#include "run/result_stores.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/host_name.h"
#include "comm/mpi/message_tags.h"
#include "results/open_result.h"
#include "results/parts/durable_file.h"
#include "run/agreement.h"
#include "run/job_loop.h"

namespace voltpile {
namespace {

constexpr char request_mark = 'P', outcome_mark = 'E', next_mark = 'N';
constexpr char sent_mark = 'S', failed_mark = 'F';
const std::string complete_mark = "complete";  // never the bytes of ranges, whose size is a multiple of 16

std::string to_bytes(const std::vector<WorkRange>& ranges) {
    std::string bytes(ranges.size() * sizeof(WorkRange), '\0');
    if (!ranges.empty()) std::memcpy(bytes.data(), ranges.data(), bytes.size());
    return bytes;
}

std::vector<WorkRange> ranges_of(std::string_view bytes) {
    std::vector<WorkRange> ranges(bytes.size() / sizeof(WorkRange));
    if (!ranges.empty()) std::memcpy(ranges.data(), bytes.data(), ranges.size() * sizeof(WorkRange));
    return ranges;
}

// A run that was killed after its result got its name may have left parts on other hosts' disks. Rank 0 has
// already tidied up what it sees.
void clean_up_elsewhere(const Communicator& world, const std::filesystem::path& result,
                        const ResultLayout& layout) {
    if (first_of_other_folder(world, parts_path(result))) remove_left_over_parts(result, layout);
}

// Ranks on other hosts may have been started in another folder.
std::string whole_path(const std::filesystem::path& result) {
    return std::filesystem::absolute(follow_links(result)).string();
}

// Sleeps between looks at messages: briefly while messages arrive, longer when none has come for a while.
class Nap {
  public:
    void busy() { last_ = std::chrono::steady_clock::now(); }
    void take() const {
        const bool lively = std::chrono::steady_clock::now() - last_ < std::chrono::milliseconds(200);
        std::this_thread::sleep_for(lively ? std::chrono::microseconds(50) : std::chrono::microseconds(2000));
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

Admission::Verdict admit_run(const Communicator& world, const std::filesystem::path& result,
                             const ResultLayout& layout, const AdmissionRequest& request) {
    const std::string answer = decide_on_root(world, [&] {
        const Admission admission = admit(result, layout, request);
        admission.throw_if_refused();
        const bool complete = admission.verdict == Admission::Verdict::Complete;
        if (complete) remove_left_over_parts(result, layout);
        return static_cast<char>(admission.verdict) + (complete ? whole_path(result) : "");
    });
    const auto verdict = static_cast<Admission::Verdict>(answer.front());
    if (verdict == Admission::Verdict::Complete) clean_up_elsewhere(world, answer.substr(1), layout);
    return verdict;
}

ResultStores::ResultStores(const Communicator& world, const std::filesystem::path& result,
                           const ResultLayout& layout, bool fresh, const Claim& claim)
    : world_(world), layout_(layout), hosts_(world.all_gather(host_name())) {
    open_first(result, fresh, claim);
    if (complete_) {
        clean_up_elsewhere(world_, life_.result, layout_);
        return;
    }
    map_ = find_stores(world_, hosts_, life_.parts, life_.name);
    open_own(fresh, claim);
    scan_all();
    if (complete_ && world_.rank() != 0) remove_own();
}

ResultStores::~ResultStores() = default;

void ResultStores::open_first(const std::filesystem::path& result, bool fresh, const Claim& claim) {
    const std::string answer = decide_on_root(world_, [&] {
        folder_ = open_result(result, layout_, fresh, claim);
        return (folder_ ? folder_->life().name : "") + '\n' + whole_path(result);
    });
    const auto end = answer.find('\n');
    const std::filesystem::path path = answer.substr(end + 1);
    complete_ = end == 0;
    life_ = {path, parts_path(path), answer.substr(0, end)};
    if (folder_) life_ = folder_->life();
}

void ResultStores::open_own(bool fresh, const Claim& claim) {
    const PartStore& own = map_.of(world_.rank());
    const std::vector<std::string> names = all_agree(world_, [&]() -> std::string {
        if (world_.rank() == 0) return life_.name;
        if (own.leader != world_.rank()) return "";
        try {
            folder_ = std::make_unique<PartFolder>(
                life_.result, layout_, fresh ? PartFolder::IfOther::Discard : PartFolder::IfOther::Refuse,
                Claim{claim.shard, claim.take_over, this_run()});
            return folder_->life().name;
        } catch (const Error& error) {
            throw Error(error.exit_code(), own.host + ": " + error.what());
        }
    });
    if (world_.rank() != 0) life_.name = names[static_cast<std::size_t>(own.leader)];
}

void ResultStores::scan_all() {
    const std::vector<std::string> scans = all_agree(world_, [&]() -> std::string {
        if (!folder_) return "";
        return unless_complete([&] {
            scan_ = scan_parts(folder_->life(), layout_, folder_->interval());
            for (const RejectedPart& part : scan_.rejected)
                spdlog::warn("{}: {}; moved aside, its range is computed again", part.path.string(),
                             part.reason);
            if (world_.rank() != 0) folder_->record_life(scan_.completed.size());
            std::vector<WorkRange> ranges;
            for (const PartInfo& part : scan_.parts) ranges.push_back(part.range);
            return to_bytes(ranges);
        });
    });
    complete_ = complete_mark == decide_on_root(world_, [&] {
                    if (scans[0] == complete_mark) return scans[0];
                    return unless_complete([&] {
                        add_completed(scans);
                        folder_->check_progress(completed_.size());
                        folder_->record_life(completed_.size());
                        return std::string();
                    });
                });
}

// Other shards may finish the whole at any moment, and then end this life with all others.
std::string ResultStores::unless_complete(const std::function<std::string()>& body) const {
    try {
        return body();
    } catch (const TakenOverError&) {
        if (world_.rank() != 0 || !is_complete(life_.result, layout_)) throw;
        return complete_mark;
    }
}

// Where ranges overlap, those in rank 0's folder count, then those of the hosts in order.
void ResultStores::add_completed(const std::vector<std::string>& scans) {
    completed_ = scan_.completed;
    for (const PartStore& store : map_.stores) {
        if (store.leader == 0) continue;
        for (const WorkRange& range : ranges_of(scans[static_cast<std::size_t>(store.leader)])) {
            if (completed_.overlaps(range)) continue;
            completed_.insert(range);
            elsewhere_.push_back({store.leader, range});
        }
    }
    completed_ = completed_.within(folder_->interval());
}

std::vector<WorkRange> ResultStores::ranges_elsewhere() const {
    std::vector<WorkRange> ranges;
    for (const Elsewhere& part : elsewhere_) ranges.push_back(part.range);
    return ranges;
}

bool ResultStores::committed(int rank, WorkRange range) {
    const int leader = map_.of(rank).leader;
    if (leader == 0) return true;
    elsewhere_.push_back({leader, range});
    return false;
}

void ResultStores::gather(const std::function<void(WorkRange)>& on_part) {
    if (elsewhere_.empty()) return;
    for (const Elsewhere& part : elsewhere_) {
        put_part(life_, part.range, fetch(part));
        on_part(part.range);
    }
    sync_file_system(folder_->path());
    elsewhere_.clear();
}

std::vector<std::byte> ResultStores::fetch(const Elsewhere& part) const {
    world_.send(part.leader, kOutcomeTag, request_mark + to_bytes({part.range}));
    for (Nap nap;; nap.take()) {
        const auto reply = world_.poll(kPartTag);
        if (!reply) continue;
        const std::string_view bytes = std::string_view(reply->bytes).substr(1);
        if (reply->bytes.front() == failed_mark)
            throw FileError(fmt::format("{}: {}", hosts_[static_cast<std::size_t>(part.leader)], bytes));
        const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
        return {begin, begin + bytes.size()};
    }
}

void ResultStores::hand_out(const std::string& request) const {
    std::string reply;
    try {
        const std::vector<std::byte> part = read_part(life_.parts, ranges_of(request.substr(1)).at(0));
        reply.reserve(part.size() + 1);
        reply = sent_mark;
        reply.append(reinterpret_cast<const char*>(part.data()), part.size());
    } catch (const Error& error) {
        reply = failed_mark + std::string(error.what());
    }
    world_.send(0, kPartTag, reply);
}

void ResultStores::tell_outcome(ExitCode code) {
    for (int rank = 1; rank < world_.size(); ++rank)
        world_.send(rank, kOutcomeTag, {outcome_mark, static_cast<char>(code)});
}

void ResultStores::remove_own() {
    try {
        if (folder_) folder_->remove_own();
    } catch (const Error& error) {
        spdlog::warn("{}", error.what());
    }
}

void ResultStores::tell_next(const std::string& message) {
    for (int rank = 1; rank < world_.size(); ++rank) world_.send(rank, kOutcomeTag, next_mark + message);
}

// Waits for a message that is no request for a part; hands out parts meanwhile.
std::string ResultStores::await_message() {
    for (Nap nap;; nap.take()) {
        auto message = world_.poll(kOutcomeTag);
        if (!message) continue;
        nap.busy();
        if (message->bytes.front() != request_mark) return std::move(message->bytes);
        hand_out(message->bytes);
    }
}

std::string ResultStores::await_next() {
    const std::string message = await_message();
    if (message.front() == outcome_mark)
        throw_agreed(static_cast<ExitCode>(message.at(1)), "rank 0 could not go on");
    return message.substr(1);
}

ExitCode ResultStores::await_outcome() {
    const auto code = static_cast<ExitCode>(await_message().at(1));
    while (world_.poll(kGrantTag)) {  // sent before this rank finished
    }
    if (code == ExitCode::Done) remove_own();
    return code;
}

}  // namespace voltpile
