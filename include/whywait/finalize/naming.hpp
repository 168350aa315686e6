#ifndef WHYWAIT_FINALIZE_NAMING_HPP
#define WHYWAIT_FINALIZE_NAMING_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/names_packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Names for keys, on rank 0. Each key is looked up by the lowest rank that knows it, in its own process (address
/// space randomisation and different executables make that the only place). Collective; `keys`
/// matter on rank 0.
[[gnu::cold]] inline base::names gather_names(std::vector<core::stable_key> keys, const process_names& own,
                                                const finalize::team& all) {
  all.share(keys);

  base::pod_vector<int> owner(keys.size(), all.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (own.knows(keys[i])) owner[i] = all.rank();
  all.all_reduce(owner.data(), static_cast<int>(owner.size()), MPI_INT, MPI_MIN);
  std::vector<core::stable_key> mine;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (owner[i] == all.rank()) mine.push_back(keys[i]);
  base::names names = own.names_of(mine);

  const std::string packed = all.rank() != 0 && !mine.empty() ? report::pack(names) : std::string();
  all.gather(packed.data(), packed.size(), [&](const unsigned char* data, std::size_t size) {
    report::unpack({reinterpret_cast<const char*>(data), size}, names);
  });
  return names;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
