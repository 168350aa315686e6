#ifndef WHYWAIT_OTF2_HPP
#define WHYWAIT_OTF2_HPP

/// Include this in one file of an MPI program, beside <whywait/mpi.hpp>, and link with -lotf2 (Debian: libotf2-trace-dev; CMake:
/// whywait::otf2): then WHYWAIT_TIMELINE also writes prefix.otf2, an archive for Vampir and other readers of OTF2. All ranks have to
/// contain it. Each rank writes its own events, so the folder must be on a file system that all ranks see.

#include <whywait/core/version.hpp>

#include <whywait/otf2/otf2_archive.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace otf2 {
namespace detail {

inline const bool writes_archives = (finalize::detail::writer_of_timeline = &write_archive, true);

}  // namespace detail
}  // namespace otf2
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
