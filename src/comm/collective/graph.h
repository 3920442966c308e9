// A CUDA graph of the work enqueued on one stream. Only for sources that are built with CUDA.
#pragma once

#include <functional>

#include "device/stream.h"

struct CUgraphExec_st;

namespace voltpile {

class CollectiveGraph {
  public:
    // Captures what `enqueue` enqueues on `stream`, without running it. Throws DeviceError.
    CollectiveGraph(const Stream& stream, const std::function<void()>& enqueue);
    ~CollectiveGraph();
    CollectiveGraph(const CollectiveGraph&) = delete;
    CollectiveGraph& operator=(const CollectiveGraph&) = delete;

    void launch(const Stream& stream) const;

  private:
    CUgraphExec_st* executable_ = nullptr;
};

// Returns the median seconds of one of the `calls` calls that `enqueue` enqueues, as a graph, over `launches`
// launches after one warm-up. Waits for the stream.
double seconds_in_graph(const Stream& stream, int calls, int launches, const std::function<void()>& enqueue);

// The same without a graph: the median over `rounds` calls of `enqueue`.
double seconds_eager(const Stream& stream, int calls, int rounds, const std::function<void()>& enqueue);

}  // namespace voltpile
