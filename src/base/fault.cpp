#include "base/fault.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/link_fault.h"

namespace voltpile {
namespace {

constexpr const char* kVariable = "VOLTPILE_FAULT";

enum class Action { Kill, Stop, Hang, Delay, NoSpace, IoError, ShortWrite, Corrupt, LostGpu, Drop, Lossy };

struct ActionWord {
    std::string_view word;
    Action action;
};
constexpr std::array kActions{ActionWord{"kill", Action::Kill},        ActionWord{"stop", Action::Stop},
                              ActionWord{"hang", Action::Hang},        ActionWord{"delay", Action::Delay},
                              ActionWord{"enospc", Action::NoSpace},   ActionWord{"eio", Action::IoError},
                              ActionWord{"short", Action::ShortWrite}, ActionWord{"corrupt", Action::Corrupt},
                              ActionWord{"lost", Action::LostGpu},     ActionWord{"drop", Action::Drop},
                              ActionWord{"lossy", Action::Lossy}};
constexpr std::array<std::string_view, 5> kPlaces{"write", "range", "collective", "gpu", "message"};
constexpr std::size_t kMessagePlace = kPlaces.size() - 1;  // behind those of FaultPlace
constexpr std::int64_t kLossyEvery = 10;                   // messages, of which one is late

struct Fault {
    Action action{};
    std::size_t place = 0;    // in kPlaces
    std::int64_t number = 0;  // strikes at this one
    std::int64_t ms = 0;

    bool is_at(FaultPlace where) const { return place == static_cast<std::size_t>(where); }
    bool strikes(std::int64_t passed) const {
        if (action == Action::NoSpace || action == Action::LostGpu || action == Action::Drop)
            return passed >= number;
        if (action == Action::Lossy) return passed >= number && (passed - number) % kLossyEvery == 0;
        return passed == number;
    }
};

// What is left to the caller of a place.
struct Left {
    std::optional<FaultEffect> effect;
    bool lost = false;  // the message
};

// What VOLTPILE_FAULT says for this process, and how often each place was passed.
struct ArmedFaults {
    std::vector<Fault> faults;
    std::array<std::atomic<std::int64_t>, kPlaces.size()> passed{};
};

ArmedFaults& armed_faults() {
    static ArmedFaults faults;
    return faults;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    for (;;) {
        const auto at = text.find(separator);
        words.push_back(trimmed(text.substr(0, at)));
        if (at == std::string_view::npos) return words;
        text.remove_prefix(at + 1);
    }
}

[[noreturn]] void refuse(std::string_view fault, const std::string& why) {
    throw JobError(fmt::format("{}: '{}': {}", kVariable, fault, why));
}

std::int64_t number_in(std::string_view fault, std::string_view word, std::string_view digits) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
        refuse(fault, fmt::format("{} needs a whole number, not '{}'", word, digits));
    return number;
}

Action action_in(std::string_view fault, std::string_view word) {
    for (const ActionWord& each : kActions)
        if (each.word == word) return each.action;
    refuse(fault,
           fmt::format("unknown action '{}'; there are kill, stop, hang, delay, enospc, eio, short, corrupt, "
                       "lost, drop and lossy",
                       word));
}

void check_place(std::string_view text, const Fault& fault) {
    if (fault.number < 1)
        refuse(text,
               "it needs the number of a write, range, collective, gpu call or message, counted from 1");
    const bool only_writes = fault.action == Action::NoSpace || fault.action == Action::IoError ||
                             fault.action == Action::ShortWrite || fault.action == Action::Corrupt;
    if (only_writes && !fault.is_at(FaultPlace::Write)) refuse(text, "this action strikes writes only");
    if (fault.action == Action::LostGpu && !fault.is_at(FaultPlace::Gpu))
        refuse(text, "this action strikes gpu calls only");
    if ((fault.action == Action::Drop || fault.action == Action::Lossy) && fault.place != kMessagePlace)
        refuse(text, "this action strikes messages only");
    if ((fault.action == Action::Delay || fault.action == Action::Lossy) && fault.ms == 0)
        refuse(text, "delay and lossy need ms=N");
}

// "kill:rank=1,write=7"; nothing if it is for another rank.
std::optional<Fault> parse_fault(std::string_view text, int rank) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos)
        refuse(text, "write it as ACTION:PLACE=N, such as kill:rank=1,write=7");
    Fault fault;
    fault.action = action_in(text, trimmed(text.substr(0, colon)));
    bool here = true;
    for (const std::string_view setting : split_at(text.substr(colon + 1), ',')) {
        const auto equals = setting.find('=');
        const std::string_view word = trimmed(setting.substr(0, equals));
        const std::string_view digits =
            equals == std::string_view::npos ? "" : trimmed(setting.substr(equals + 1));
        std::size_t place = 0;
        while (place < kPlaces.size() && kPlaces[place] != word) ++place;
        if (place < kPlaces.size()) {
            if (fault.number > 0) refuse(text, "it names two places");
            fault.place = place;
            fault.number = number_in(text, word, digits);
        } else if (word == "rank") {
            here = number_in(text, word, digits) == rank;
        } else if (word == "ms") {
            fault.ms = number_in(text, word, digits);
        } else {
            refuse(text,
                   fmt::format(
                       "unknown word '{}'; there are rank, ms, write, range, collective, gpu and message",
                       word));
        }
    }
    check_place(text, fault);
    return here ? std::optional(fault) : std::nullopt;
}

void happen(const Fault& fault, Left& left) {
    switch (fault.action) {
        case Action::Kill:
            ::kill(::getpid(), SIGKILL);
            break;
        case Action::Stop:
            ::kill(::getpid(), SIGSTOP);
            break;
        case Action::Hang:
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        case Action::Delay:
        case Action::Lossy:
            std::this_thread::sleep_for(std::chrono::milliseconds(fault.ms));
            break;
        case Action::NoSpace:
            left.effect = FaultEffect::NoSpace;
            break;
        case Action::IoError:
            left.effect = FaultEffect::IoError;
            break;
        case Action::ShortWrite:
            left.effect = FaultEffect::ShortWrite;
            break;
        case Action::Corrupt:
            left.effect = FaultEffect::Corrupt;
            break;
        case Action::LostGpu:
            left.effect = FaultEffect::LostGpu;
            break;
        case Action::Drop:
            left.lost = true;
            break;
    }
}

Left pass(std::size_t place) {
    ArmedFaults& armed = armed_faults();
    const std::int64_t passed = ++armed.passed[place];
    Left left;
    for (const Fault& fault : armed.faults)
        if (fault.place == place && fault.strikes(passed)) happen(fault, left);
    return left;
}

}  // namespace

void load_faults(int rank) {
    ArmedFaults& armed = armed_faults();
    armed.faults.clear();
    for (auto& count : armed.passed) count = 0;
    fault_detail::armed = false;
    const char* value = std::getenv(kVariable);
    if (!value || trimmed(value).empty()) return;
    for (const std::string_view text : split_at(value, ';'))
        if (const auto fault = parse_fault(text, rank)) armed.faults.push_back(*fault);
    fault_detail::armed = !armed.faults.empty();
}

std::optional<FaultEffect> fault_detail::strike_armed(FaultPlace place) {
    return pass(static_cast<std::size_t>(place)).effect;
}

bool fault_detail::lose_message() {
    return pass(kMessagePlace).lost;
}

}  // namespace voltpile
