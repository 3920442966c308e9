#include "command/run_record.h"

#include <cstring>
#include <functional>

#include "base/message_bytes.h"
#include "results/rows.h"

namespace voltpile::command {
namespace {

template <class Number, class Get>
FieldBuffer numbers_buffer(const std::vector<RunRecord>& records, const Get& get) {
    FieldBuffer buffer(records.size() * sizeof(Number));
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto number = static_cast<Number>(get(records[i]));
        std::memcpy(buffer.data() + i * sizeof number, &number, sizeof number);
    }
    return buffer;
}

template <class Get>
FieldBuffer texts_buffer(const std::vector<RunRecord>& records, const Get& get) {
    RowsBuilder rows;
    for (const RunRecord& record : records) rows.add(std::string_view(get(record)));
    return rows.take();
}

FieldBuffer values_buffer(const std::vector<RunRecord>& records, std::size_t field) {
    const auto get = [field]<class T>(std::type_identity<T>) {
        return [field](const RunRecord& record) -> const T& { return std::get<T>(record.values[field]); };
    };
    const OutputValue& first = records.front().values[field];
    if (std::holds_alternative<double>(first))
        return numbers_buffer<double>(records, get(std::type_identity<double>()));
    if (std::holds_alternative<std::int64_t>(first))
        return numbers_buffer<std::int64_t>(records, get(std::type_identity<std::int64_t>()));
    return texts_buffer(records, get(std::type_identity<std::string>()));
}

}  // namespace

FieldSpec outcome_field() {
    FieldSpec outcome;
    outcome.name = "outcome";
    outcome.type = FieldType::Int32;
    outcome.unit = "1";
    outcome.long_name = "how the run ended";
    outcome.labels = {"done", "exit_code", "signal", "time_limit", "no_output", "ended", "flooded"};
    return outcome;
}

FieldSpec problem_field() {
    FieldSpec problem;
    problem.name = "problem";
    problem.shape = FieldShape::Text;
    problem.long_name = "what went wrong; empty if nothing did";
    return problem;
}

std::vector<FieldSpec> record_fields(bool instances) {
    FieldSpec exit_code, seconds, host;
    exit_code.name = "exit_code";
    exit_code.type = FieldType::Int32;
    exit_code.unit = "1";
    exit_code.long_name = "exit code of the program; 128 + N if signal N ended it";
    seconds.name = "seconds";
    seconds.unit = "s";
    seconds.long_name = "time that the run took";
    host.name = "host";
    host.shape = FieldShape::Text;
    host.long_name = "host on which the instance ran";
    std::vector<FieldSpec> fields{outcome_field(), exit_code, seconds, problem_field()};
    if (instances) fields.push_back(host);
    return fields;
}

std::vector<FieldBuffer> to_buffers(const std::vector<RunRecord>& records, bool instances) {
    std::vector<FieldBuffer> buffers;
    buffers.push_back(numbers_buffer<std::int32_t>(records, std::mem_fn(&RunRecord::outcome)));
    buffers.push_back(numbers_buffer<std::int32_t>(records, std::mem_fn(&RunRecord::exit_code)));
    buffers.push_back(numbers_buffer<double>(records, std::mem_fn(&RunRecord::seconds)));
    buffers.push_back(texts_buffer(records, std::mem_fn(&RunRecord::problem)));
    if (instances) buffers.push_back(texts_buffer(records, std::mem_fn(&RunRecord::host)));
    for (std::size_t field = 0; field < records.front().values.size(); ++field)
        buffers.push_back(values_buffer(records, field));
    return buffers;
}

std::string to_bytes(const RunRecord& record) {
    MessageWriter to;
    to.value(record.outcome);
    to.value(record.exit_code);
    to.value(record.seconds);
    to.text(record.problem);
    to.text(record.host);
    to.text(record.missing);
    to.value(record.values.size());
    for (const OutputValue& value : record.values) {
        to.value(value.index());
        if (const auto* const text = std::get_if<std::string>(&value)) to.text(*text);
        if (const auto* const real = std::get_if<double>(&value)) to.value(*real);
        if (const auto* const integer = std::get_if<std::int64_t>(&value)) to.value(*integer);
    }
    return to.take();
}

RunRecord run_record_from(const std::string& bytes) {
    MessageReader from(bytes, "the record of an instance");
    RunRecord record;
    record.outcome = from.value<Outcome>();
    record.exit_code = from.value<int>();
    record.seconds = from.value<double>();
    record.problem = from.text();
    record.host = from.text();
    record.missing = from.text();
    record.values.resize(from.count(sizeof(std::size_t)));
    for (OutputValue& value : record.values) {
        const auto index = from.value<std::size_t>();
        if (index == 0)
            value = from.value<double>();
        else if (index == 1)
            value = from.value<std::int64_t>();
        else
            value = from.text();
    }
    return record;
}

}  // namespace voltpile::command
