#include "llm/bench/load_result.h"

#include <algorithm>
#include <utility>

#include "llm/eval/sample_statistics.h"

namespace voltpile::llm {

Quantiles quantiles_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    return {quantile(values, 0.5), quantile(values, 0.99)};
}

double mean_between_tokens(const LoadResult& result) {
    double seconds = 0;
    std::ptrdiff_t gaps = 0;
    for (const RequestTimes& request : result.requests) {
        if (request.tokens_s.size() < 2) continue;
        seconds += request.tokens_s.back() - request.tokens_s.front();
        gaps += std::ssize(request.tokens_s) - 1;
    }
    return gaps == 0 ? 0 : seconds / static_cast<double>(gaps);
}

Quantiles between_tokens(const std::vector<RequestTimes>& requests, double begin, double end) {
    std::vector<double> values;
    for (const RequestTimes& request : requests) {
        const std::vector<double>& at = request.tokens_s;
        for (std::size_t i = 1; i < at.size(); ++i) {
            const double middle = (at[i - 1] + at[i]) / 2;
            if (middle > begin && middle <= end) values.push_back(at[i] - at[i - 1]);
        }
    }
    return quantiles_of(std::move(values));
}

void summarize(LoadResult& result) {
    std::ranges::sort(result.requests, {}, &RequestTimes::id);
    std::vector<double> first_token;
    for (const RequestTimes& request : result.requests) {
        result.tokens_in += request.tokens_in;
        result.tokens_out += request.tokens_out;
        if (!request.tokens_s.empty()) first_token.push_back(request.tokens_s.front() - request.arrival_s);
    }
    result.first_token_s = quantiles_of(std::move(first_token));
    result.between_tokens_s = between_tokens(result.requests);
}

}  // namespace voltpile::llm
