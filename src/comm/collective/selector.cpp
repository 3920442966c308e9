#include "comm/collective/selector.h"

#if VOLTPILE_CUDA

namespace voltpile {

CollectiveSelector::CollectiveSelector(std::unique_ptr<StreamCommunicator> nccl,
                                       std::unique_ptr<PeerCommunicator> peer)
    : nccl_(std::move(nccl)), peer_(std::move(peer)) {}

StreamCommunicator& CollectiveSelector::any() const {
    return nccl_ ? *nccl_ : static_cast<StreamCommunicator&>(*peer_);
}

StreamCommunicator& CollectiveSelector::by(const CollectiveWay& way) {
    if (way.nccl) return *nccl_;
    const PeerPlan plan{way.wire, way.two_shot, {0, 0}};
    peer_->set_plan(&plan);
    return *peer_;
}

StreamCommunicator& CollectiveSelector::chosen(Collective collective, std::int64_t bytes) {
    return table_ ? by(table_->choose(collective, bytes)) : any();
}

void CollectiveSelector::all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                                    Reduction reduction, StreamRef stream) {
    chosen(Collective::AllReduce, count * size_of(type)).all_reduce(in, out, count, type, reduction, stream);
}

void CollectiveSelector::all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                                    StreamRef stream) {
    chosen(Collective::AllGather, count * size_of(type)).all_gather(in, out, count, type, stream);
}

void CollectiveSelector::reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                        Reduction reduction, StreamRef stream) {
    chosen(Collective::ReduceScatter, count * size_of(type))
        .reduce_scatter(in, out, count, type, reduction, stream);
}

void CollectiveSelector::all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                                    StreamRef stream) {
    chosen(Collective::AllToAll, count * size_of(type)).all_to_all(in, out, count, type, stream);
}

void CollectiveSelector::broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                                   StreamRef stream) {
    chosen(Collective::Broadcast, count * size_of(type)).broadcast(in, out, count, type, root, stream);
}

void CollectiveSelector::send(const void* in, std::int64_t count, ElementType type, int to,
                              StreamRef stream) {
    any().send(in, count, type, to, stream);
}

void CollectiveSelector::receive(void* out, std::int64_t count, ElementType type, int from,
                                 StreamRef stream) {
    any().receive(out, count, type, from, stream);
}

void CollectiveSelector::check() {
    try {
        if (peer_) peer_->check();  // first, because it knows which peer is missing
        if (nccl_) nccl_->check();
    } catch (...) {
        abort();
        throw;
    }
}

void CollectiveSelector::abort() noexcept {
    if (peer_) peer_->abort();
    if (nccl_) nccl_->abort();
}

std::string CollectiveSelector::describe() const {
    return table_ ? table_->text() : any().describe();
}

}  // namespace voltpile

#endif
