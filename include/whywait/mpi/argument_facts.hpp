#ifndef WHYWAIT_MPI_ARGUMENT_FACTS_HPP
#define WHYWAIT_MPI_ARGUMENT_FACTS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/process_state.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// What the wrappers query from MPI about arguments. Only after the program's call has succeeded with them: a query
// with a bad handle would call the program's error handler a second time.

namespace detail {

// Predefined types keep their size for ever; a derived one may be freed and its handle come back.
__attribute__((noinline)) inline int64_t ask_type_bytes(thread_state& thread, MPI_Datatype type) noexcept {
  if (type == MPI_DATATYPE_NULL) return 0;
  auto& slot = thread.types[(bits_of(type) * 0x9e3779b97f4a7c15u) >> 60];
  int bytes = 0;
  if (PMPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
  if (slot.handle == bits_of(type)) return bytes;  // known as derived
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  slot.handle = bits_of(type);
  slot.bytes = combiner == MPI_COMBINER_NAMED ? bytes : -1;
  return bytes;
}

/// Adds a communicator. World ranks through the groups, no traffic. `followed`: see communicator_table::add.
__attribute__((noinline, cold)) inline uint32_t learn_communicator(state& process, MPI_Comm comm,
                                                                   bool followed = true) noexcept {
  if (comm == MPI_COMM_NULL) return communicator_table::none;
  int inter = 0, rank = 0, size = 0, local_size = 0;
  MPI_Group peers = MPI_GROUP_NULL, local = MPI_GROUP_NULL;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_group(comm, &local);
  PMPI_Group_size(local, &local_size);
  if (inter != 0) PMPI_Comm_remote_group(comm, &peers);
  else peers = local;
  PMPI_Group_size(peers, &size);
  const size_t most = static_cast<size_t>(size > local_size ? size : local_size);
  const size_t bytes = sizeof(int) * most * 3;
  int few[3 * 64];
  int* const room = bytes <= sizeof few ? few : static_cast<int*>(core::map_pages(bytes, false));
  uint32_t index = communicator_table::none;
  if (room != nullptr) {
    int *const numbers = room, *const remote_world = room + most, *const local_world = room + 2 * most;
    for (size_t i = 0; i < most; ++i) numbers[i] = static_cast<int>(i);
    const auto translate = [&](MPI_Group group, int count, int* world) {
      PMPI_Group_translate_ranks(group, count, numbers, process.world_group, world);
      for (int i = 0; i < count; ++i)
        if (world[i] == MPI_UNDEFINED) world[i] = -1;
    };
    translate(peers, size, remote_world);
    if (inter != 0) translate(local, local_size, local_world);
    index = process.communicators.add(remote_world, size, rank, inter != 0, local_world, local_size, followed);
    if (room != few) core::unmap_pages(room, bytes);
  }
  PMPI_Group_free(&local);
  if (inter != 0) PMPI_Group_free(&peers);
  return index;
}

__attribute__((noinline)) inline uint32_t find_communicator(thread_state& thread, MPI_Comm comm) noexcept {
  state& process = *thread.process;
  guard_if guard(process.lock, process.multiple);
  const uint64_t handle = bits_of(comm);
  uint32_t index = process.communicators.find(handle);
  if (index == communicator_table::none) {
    index = learn_communicator(process, comm, false);
    if (index == communicator_table::none) return index;
    process.communicators.bind(handle, index);
  }
  thread.communicator_handle = handle;
  thread.communicator_generation = __atomic_load_n(&process.communicator_generation, __ATOMIC_RELAXED);
  thread.communicator_index = index;
  return index;
}

}  // namespace detail

/// Bytes of `count` elements. About 2 ns for predefined types.
inline uint64_t bytes_of(thread_state& thread, MPI_Count count, MPI_Datatype type) noexcept {
  if (count <= 0) return 0;
  const auto& slot = thread.types[(bits_of(type) * 0x9e3779b97f4a7c15u) >> 60];
  const int64_t known = slot.handle == bits_of(type) ? slot.bytes : -1;
  const int64_t each = __builtin_expect(known >= 0, 1) ? known : detail::ask_type_bytes(thread, type);
  return static_cast<uint64_t>(count) * static_cast<uint64_t>(each);
}

/// Index of a communicator; 0 (world) only for world. About 1 ns if it is that of the call before.
inline uint32_t index_of(thread_state& thread, MPI_Comm comm) noexcept {
  if (__builtin_expect(
          thread.communicator_handle == bits_of(comm) &&
              thread.communicator_generation == __atomic_load_n(&thread.process->communicator_generation, __ATOMIC_RELAXED) &&
              thread.communicator_index != communicator_table::none,
          1))
    return thread.communicator_index;
  return detail::find_communicator(thread, comm);
}

/// A window or file was made over a communicator: it becomes a communicator of its own with the same members, found by `key`.
inline uint32_t made_like(thread_state& thread, MPI_Comm over, uint64_t key) noexcept {
  state& process = *thread.process;
  guard_if guard(process.lock, process.multiple);
  const uint32_t index = detail::learn_communicator(process, over);
  if (index != communicator_table::none) process.communicators.bind(key, index);
  else process.communicators.forget(key);
  __atomic_add_fetch(&process.communicator_generation, 1u, __ATOMIC_RELAXED);
  return index;
}

/// A communicator was made: numbers it at once, so that all members count alike.
inline uint32_t made_communicator(thread_state& thread, MPI_Comm comm) noexcept {
  return comm != MPI_COMM_NULL ? made_like(thread, comm, bits_of(comm)) : communicator_table::none;
}

/// A communicator was freed: its handle means nothing until MPI uses it again.
inline void forget_communicator(thread_state& thread, uint64_t handle) noexcept {
  state& process = *thread.process;
  guard_if guard(process.lock, process.multiple);
  process.communicators.forget(handle);
  __atomic_add_fetch(&process.communicator_generation, 1u, __ATOMIC_RELAXED);
}

/// MPICH 4.0 fills in no status for MPI_Isendrecv.
#ifdef MPICH_VERSION
constexpr bool exchanges_have_status = false;
#else
constexpr bool exchanges_have_status = true;
#endif

/// Whether a failed receive has taken its message all the same: a truncated one has.
inline bool took_message(int code) noexcept {
  int error_class = code;
  PMPI_Error_class(code, &error_class);
  return error_class == MPI_ERR_TRUNCATE;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
