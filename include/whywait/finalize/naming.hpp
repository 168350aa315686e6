#ifndef WHYWAIT_FINALIZE_NAMING_HPP
#define WHYWAIT_FINALIZE_NAMING_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/names_packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Returns names for keys on rank 0. The lowest rank that recorded a key resolves it in its own process, because
/// address space randomisation and different executables allow no other place. Collective; `keys` is read on rank 0
/// only.
inline base::names gather_names(base::vector<core::stable_key> keys, const process_names& own, const finalize::team& all) {
  all.share(keys);

  base::pod_vector<int> owner(keys.size(), all.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (own.contains(keys[i])) owner[i] = all.rank();
  all.all_reduce(owner.data(), static_cast<int>(owner.size()), MPI_INT, MPI_MIN);
  base::vector<core::stable_key> mine;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (owner[i] == all.rank()) mine.push_back(keys[i]);
  base::names names = own.names_of(mine);

  const base::packet packed = all.rank() != 0 && !mine.empty() ? reports::pack(names) : base::packet();
  all.gather(packed.data(), packed.size(),
             [&](const unsigned char* data, std::size_t size) { reports::unpack(data, size, names); });
  names.clear_needless_callers();
  return names;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
