#include "command/run_record.h"

#include <cstring>

#include "results/rows.h"

namespace voltpile::command {
namespace {

template <class Number>
FieldBuffer number_buffer(Number number) {
    FieldBuffer buffer(sizeof number);
    std::memcpy(buffer.data(), &number, sizeof number);
    return buffer;
}

FieldBuffer buffer_of(const OutputValue& value) {
    if (const auto* const real = std::get_if<double>(&value)) return number_buffer(*real);
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) return number_buffer(*integer);
    RowsBuilder rows;
    rows.add(std::get<std::string>(value));
    return rows.take();
}

}  // namespace

std::vector<FieldSpec> record_fields() {
    FieldSpec outcome, exit_code, seconds, problem;
    outcome.name = "outcome";
    outcome.type = FieldType::Int32;
    outcome.unit = "1";
    outcome.long_name = "how the run ended";
    outcome.labels = {"done", "exit_code", "signal", "time_limit", "no_output"};
    exit_code.name = "exit_code";
    exit_code.type = FieldType::Int32;
    exit_code.unit = "1";
    exit_code.long_name = "exit code of the program; 128 + N if signal N ended it";
    seconds.name = "seconds";
    seconds.unit = "s";
    seconds.long_name = "time that the run took";
    problem.name = "problem";
    problem.shape = FieldShape::Text;
    problem.long_name = "what went wrong; empty if nothing did";
    return {outcome, exit_code, seconds, problem};
}

std::vector<FieldBuffer> to_buffers(const RunRecord& record) {
    std::vector<FieldBuffer> buffers;
    buffers.push_back(number_buffer(static_cast<std::int32_t>(record.outcome)));
    buffers.push_back(number_buffer(static_cast<std::int32_t>(record.exit_code)));
    buffers.push_back(number_buffer(record.seconds));
    buffers.push_back(buffer_of(record.problem));
    for (const OutputValue& value : record.values) buffers.push_back(buffer_of(value));
    return buffers;
}

}  // namespace voltpile::command
