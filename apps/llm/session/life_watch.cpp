#include "llm/session/life_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/seconds_since.h"
#include "comm/mpi/message_tags.h"
#include "comm/mpi/outbox.h"
#include "run/link_watch.h"

namespace voltpile::llm {
namespace {

constexpr double sign_interval_s = 1;
constexpr std::chrono::milliseconds look_interval{200}, last_look_interval{5};
constexpr const char* alive = "";
constexpr const char* ends = "E";

}  // namespace

LifeWatch::LifeWatch(const Communicator& link, Lost lost, LifeWatchSettings settings)
    : link_(link),
      lost_(std::move(lost)),
      patience_(link.rank() == 0 ? settings.patience_of_root : settings.patience_of_others),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void LifeWatch::run(const std::stop_token& stop) {
    const auto begin = std::chrono::steady_clock::now();
    SilenceClock clock(link_.size(), std::chrono::duration<double>(patience_).count());
    std::vector<int> others;
    for (int rank = 0; rank < link_.size(); ++rank)
        if (rank != link_.rank() && (rank == 0 || link_.rank() == 0)) others.push_back(rank);
    for (const int rank : others) clock.heard(rank, 0);

    std::set<int> ended;  // of the others
    // Sends without waiting, because a message to a rank that is gone may never leave.
    std::optional<Outbox> outbox(std::in_place, link_);
    const auto lose = [&](int rank, const std::string& why) {
        clock.forget(rank);
        std::erase(others, rank);
        outbox.emplace(link_);  // leaves what cannot be sent to MPI
        lost_(rank, why);
    };
    const auto send = [&](const char* sign) {
        for (const int rank : std::vector(others)) {
            try {
                outbox->send(rank, kLifeTag, std::make_shared<const std::string>(sign));
            } catch (const CommError&) {
                outbox.emplace(link_);  // whoever is gone falls silent
            }
        }
    };
    const auto take_signs = [&](double now) {
        while (const auto message = link_.poll(kLifeTag)) {
            if (message->bytes == ends) {
                ended.insert(message->from);
                clock.forget(message->from);
            } else if (std::ranges::find(others, message->from) != others.end()) {
                clock.heard(message->from, now);
            }
        }
    };
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    for (double sent_s = -sign_interval_s; !stop.stop_requested();) {
        const double now = seconds_since(begin);
        if (now - sent_s >= sign_interval_s) {
            sent_s = now;
            send(alive);
        }
        take_signs(now);
        while (const auto rank = clock.silent(now)) {
            lose(*rank, fmt::format("has been silent for {} s", patience_.count()));
        }
        woken.wait_for(lock, stop, look_interval, [] { return false; });
    }
    send(ends);
    // No sign may arrive after the link is gone: MPI would give it to a later group.
    const double end_s = seconds_since(begin) + std::chrono::duration<double>(patience_).count();
    const auto has_ended = [&](int rank) { return ended.contains(rank); };
    while (!std::ranges::all_of(others, has_ended) && seconds_since(begin) < end_s) {
        take_signs(seconds_since(begin));
        std::this_thread::sleep_for(last_look_interval);
    }
}

}  // namespace voltpile::llm
