#include "run/telemetry_link.h"

#include <algorithm>
#include <memory>
#include <string>

#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

constexpr std::size_t kMostRows = 200;  // of a message

NodeTelemetry rows_of(const NodeTelemetry& node, std::size_t begin, std::size_t end) {
    const auto cut = [&](const std::vector<double>& values) {
        return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                   values.begin() + static_cast<std::ptrdiff_t>(end));
    };
    NodeTelemetry rows{node.life, node.host, cut(node.times_s), {}};
    for (const TelemetryColumn& column : node.columns)
        rows.columns.push_back({column.name, column.unit, column.device, cut(column.values)});
    return rows;
}

}  // namespace

TelemetryLink::TelemetryLink(const Communicator& world) : link_(world.split(0)) {
    received_.resize(static_cast<std::size_t>(link_.size()));
    if (link_.rank() != 0) outbox_.emplace(link_);
    link_.hand_over();
}

void TelemetryLink::send(const NodeTelemetry& piece) {
    const std::size_t rows = piece.times_s.size();
    for (std::size_t at = 0; at < rows; at += kMostRows) {
        const NodeTelemetry part = rows_of(piece, at, std::min(at + kMostRows, rows));
        outbox_->send(0, kTelemetryTag, std::make_shared<const std::string>(telemetry_csv(part)));
        ++sent_;
    }
    link_.hand_over();
}

void TelemetryLink::receive(const Take& take) {
    while (const auto message = link_.poll(kTelemetryTag)) take_one(*message, take);
    link_.hand_over();
}

void TelemetryLink::take_one(const Message& message, const Take& take) {
    ++received_[static_cast<std::size_t>(message.from)];
    if (const auto piece = telemetry_from_csv(message.bytes)) take(message.from, *piece);
}

void TelemetryLink::finish(const Take& take) {
    const std::vector<std::string> sent = link_.all_gather(std::to_string(sent_));
    if (outbox_) return outbox_->drain();
    const auto complete = [&] {
        for (std::size_t rank = 0; rank < sent.size(); ++rank)
            if (received_[rank] < std::stoll(sent[rank])) return false;
        return true;
    };
    while (!complete()) take_one(link_.wait_for(kTelemetryTag), take);
}

}  // namespace voltpile
