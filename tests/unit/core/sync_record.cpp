#include <whywait/core/sync_record.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace whywait::core;

// Records are copied as bytes, stored in zero-initialised pages and sent between ranks.
static_assert(std::is_trivially_copyable_v<sync_record> && std::is_standard_layout_v<sync_record>, "");
static_assert(std::is_trivially_copyable_v<path_step> && std::is_standard_layout_v<path_step>, "");
static_assert(sizeof(sync_record) == 64 && sizeof(path_step) == 32, "");

TEST_CASE("a record has its flags") {
  sync_record record{};
  CHECK(record.call == mpi_call::none);
  CHECK_FALSE(record.has(0xffff));
  record.flags = sync_flag::posts_send | sync_flag::complete;
  CHECK(record.has(sync_flag::posts_send));
  CHECK(record.has(sync_flag::posts_receive | sync_flag::complete));
  CHECK_FALSE(record.has(sync_flag::cancelled));
}

TEST_CASE("flags are different bits") {
  const unsigned all[] = {sync_flag::posts_send, sync_flag::posts_receive, sync_flag::any_source, sync_flag::any_tag,
                          sync_flag::complete,   sync_flag::cancelled,     sync_flag::proc_null,  sync_flag::contributes,
                          sync_flag::consumes,   sync_flag::sparse,        sync_flag::matched,    sync_flag::ambiguous,
                          sync_flag::failed,     sync_flag::synchronous};
  unsigned seen = 0;
  for (const unsigned flag : all) {
    CHECK((seen & flag) == 0);
    CHECK((flag & (flag - 1)) == 0);
    seen |= flag;
  }
}
