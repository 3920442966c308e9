#include "comm/collective/graph.h"

#if VOLTPILE_CUDA

#include <algorithm>
#include <vector>

#include "device/check.h"

namespace voltpile {
namespace {

double median_seconds(const Stream& stream, int rounds, const std::function<void()>& round) {
    std::vector<double> times;
    Event begin, end;
    round();
    stream.synchronize();
    for (int i = 0; i < rounds; ++i) {
        begin.record(stream);
        round();
        end.record(stream);
        end.synchronize();
        times.push_back(end.seconds_since(begin));
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

CollectiveGraph::CollectiveGraph(const Stream& stream, const std::function<void()>& enqueue) {
    // Relaxed, because NCCL enqueues from a thread of its own.
    cuda_check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "capturing a graph");
    cudaGraph_t graph = nullptr;
    try {
        enqueue();
    } catch (...) {
        cudaStreamEndCapture(stream.get(), &graph);
        if (graph) cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
    }
    cuda_check(cudaStreamEndCapture(stream.get(), &graph), "capturing a graph");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    cuda_check(made, "making a graph");
}

CollectiveGraph::~CollectiveGraph() {
    if (executable_) cudaGraphExecDestroy(executable_);
}

void CollectiveGraph::launch(const Stream& stream) const {
    cuda_check(cudaGraphLaunch(executable_, stream.get()), "launching a graph");
}

double seconds_in_graph(const Stream& stream, int calls, int launches, const std::function<void()>& enqueue) {
    const CollectiveGraph graph(stream, enqueue);
    return median_seconds(stream, launches, [&] { graph.launch(stream); }) / calls;
}

double seconds_eager(const Stream& stream, int calls, int rounds, const std::function<void()>& enqueue) {
    return median_seconds(stream, rounds, enqueue) / calls;
}

}  // namespace voltpile

#endif
