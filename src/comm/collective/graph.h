// A CUDA graph of what is enqueued on one stream. For sources that are built with CUDA only.
#pragma once

#include <functional>

#include "device/stream.h"

struct CUgraphExec_st;

namespace voltpile {

class CollectiveGraph {
  public:
    // Captures what `enqueue` enqueues on `stream`, which is not run by that. Throws DeviceError.
    CollectiveGraph(const Stream& stream, const std::function<void()>& enqueue);
    ~CollectiveGraph();
    CollectiveGraph(const CollectiveGraph&) = delete;
    CollectiveGraph& operator=(const CollectiveGraph&) = delete;

    void launch(const Stream& stream) const;

  private:
    CUgraphExec_st* executable_ = nullptr;
};

// Median seconds of one of the `calls` calls that `enqueue` enqueues, as a graph, over `launches` launches
// after one to warm up. Waits for the stream.
double seconds_in_graph(const Stream& stream, int calls, int launches, const std::function<void()>& enqueue);

// The same without a graph: median over `rounds` rounds of calling `enqueue`.
double seconds_eager(const Stream& stream, int calls, int rounds, const std::function<void()>& enqueue);

}  // namespace voltpile
