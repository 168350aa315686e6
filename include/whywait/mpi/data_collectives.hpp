#ifndef WHYWAIT_MPI_DATA_COLLECTIVES_HPP
#define WHYWAIT_MPI_DATA_COLLECTIVES_HPP

#include <whywait/mpi/data_regions.hpp>
#include <whywait/mpi/part.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Leaves the data records of one collective, from the facts about what this rank sent to and received from each rank. One
/// record where that suffices, else one for each rank. The part of a rank for itself is a copy.
class data_of_collective {
 public:
  const int rank;
  const int size;

  /// After the record of the call is finished.
  data_of_collective(const call_summary& here, const core::sync_record& r, int own_rank, int ranks) noexcept
      : rank(own_rank), size(ranks), here_(here), r_(r), record_(here.next_index()) {}

  /// The part number `i`, the same to all ranks.
  void send_to_all(const part& p, int i = 0) noexcept {
    if (size > 1) leave(core::data_op::send, p, i, core::data_flag::everyone, -1);
  }
  void send_to(int peer, const part& p) noexcept { leave(core::data_op::send, p, 0, 0, peer); }
  /// Part i to rank i.
  void send_parts(const part& p) noexcept { parts(core::data_op::send, p); }
  void receive_from(int peer, const part& p, unsigned flags = 0) noexcept { leave(core::data_op::receive, p, 0, flags, peer); }
  /// Part i from rank i.
  void receive_parts(const part& p) noexcept { parts(core::data_op::receive, p); }
  /// A reduction of what all ranks sent. `i`: the rank whose count it is, if they differ; it lies at the beginning.
  void receive_combined(const part& p, int i = 0) noexcept {
    part first = p;
    if (p.counts != nullptr) first = one(p.buffer, p.count_of(i), p.type);
    if (size > 1) leave(core::data_op::receive, first, 0, core::data_flag::everyone | core::data_flag::combines, -1);
  }
  /// What the rank brought for itself.
  void keep(const part& from, int i, const part& to, int k) noexcept {
    core::data_record a, b;
    if (from.buffer == MPI_IN_PLACE || to.buffer == MPI_IN_PLACE || !find(from, i, a) || !find(to, k, b)) return;
    copy(a, core::data_op::copy_from);
    copy(b, core::data_op::copy_to);
  }
  /// All members have seen what the others did to memory that they share. Numbered behind what threads synchronise on.
  void synchronise() noexcept {
    core::data_record r;
    r.object = core::site_table::capacity + r_.comm;
    core::sync_record posted = r_;
    posted.tag = 0;
    detail::leave_transfer(here_, r, core::data_op::synchronise, posted, record_,
                           core::data_flag::everyone | core::data_flag::collective, -1, here_.begun_at());
  }

 private:
  bool find(const part& p, int i, core::data_record& r) noexcept {
    const MPI_Datatype type = p.types != nullptr ? p.types[i] : p.type;
    const MPI_Count count = p.count_of(i);
    MPI_Aint low = 0, extent = 1;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return false;
    if (p.types == nullptr) PMPI_Type_get_extent(type, &low, &extent);
    const MPI_Aint offset = p.displacements != nullptr ? p.displacement_of(i) * extent
                            : p.counts != nullptr      ? before(p, i) * extent
                                                       : static_cast<MPI_Aint>(count) * i * extent;
    return detail::find_region(here_, static_cast<const char*>(p.buffer) + offset, count, type, r);
  }
  // Elements of the parts before, of counts without displacements (MPI_Reduce_scatter).
  static MPI_Aint before(const part& p, int i) noexcept {
    MPI_Count sum = 0;
    for (int k = 0; k < i; ++k) sum += p.count_of(k);
    return static_cast<MPI_Aint>(sum);
  }

  void parts(core::data_op op, const part& p) noexcept {
    if (p.counts == nullptr && leave_at_once(op, p)) return;
    for (int i = 0; i < size; ++i)
      if (i != rank) leave(op, p, i, 0, i);
  }
  // Equal parts that follow each other without gaps are one region.
  bool leave_at_once(core::data_op op, const part& p) noexcept {
    core::data_record r;
    if (size < 2) return true;
    const MPI_Count count = p.count * size;
    if (!detail::find_region(here_, p.buffer, count, p.type, r)) return false;
    if (r.stride != 0 || r.has(core::data_flag::bounds)) return false;
    if (r.end - r.begin != bytes_of(here_.thread(), count, p.type)) return false;  // the array ends before
    store(op, r, core::data_flag::everyone | core::data_flag::parted, -1);
    return true;
  }
  void leave(core::data_op op, const part& p, int i, unsigned flags, int peer) noexcept {
    core::data_record r;
    if (find(p, i, r)) store(op, r, flags, peer);
  }
  void store(core::data_op op, const core::data_record& r, unsigned flags, int peer) noexcept {
    const uint64_t time = here_.begun_at() + (op == core::data_op::receive ? here_.duration() : 0);
    core::sync_record posted = r_;
    posted.tag = 0;
    detail::leave_transfer(here_, r, op, posted, record_, flags | core::data_flag::collective, peer, time);
  }
  void copy(core::data_record r, core::data_op op) noexcept {
    r.op = op;
    r.flags = static_cast<uint8_t>(r.flags | core::data_flag::collective);  // its site is the call
    r.site = here_.site();
    if (data::data_thread* const thread = data::this_thread()) thread->append(r, here_.begun_at() + here_.duration());
  }

  const call_summary here_;
  const core::sync_record& r_;
  const uint32_t record_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
