// binlog: a writer of its own with the time stamp counter, and BINLOG_INFO as documented; drained outside the time.
#include "../harness.hpp"

#include <binlog/binlog.hpp>

namespace {

std::uint64_t regions = 0, bytes = 0;

struct discard {
  discard& write(const char*, std::streamsize size) {
    bytes += static_cast<std::uint64_t>(size);
    return *this;
  }
};

binlog::Session& session() {
  static binlog::Session one;
  return one;
}
binlog::SessionWriter& writer() {
  static binlog::SessionWriter one(session(), 1 << 20);
  return one;
}

void drain() {
  discard out;
  session().consume(out);
}
void drain_default() {
  discard out;
  binlog::default_session().consume(out);
}

void with_counter(std::uint64_t times) {
  binlog::SessionWriter& to = writer();
  for (std::uint64_t i = 0; i < times; ++i) {
    BINLOG_CREATE_SOURCE_AND_EVENT(to, binlog::Severity::info, main, harness::counter(), "begin");
    harness::barrier();
    BINLOG_CREATE_SOURCE_AND_EVENT(to, binlog::Severity::info, main, harness::counter(), "end");
  }
  regions += times;
}
void by_default(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    BINLOG_INFO("begin");
    harness::barrier();
    BINLOG_INFO("end");
  }
  regions += times;
}

}  // namespace

int main(int argc, char** argv) {
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("binlog_rdtsc", with_counter, 2000, drain);
  rows.add("binlog", by_default, 2000, drain_default);
  const int result = rows.main(argc, argv);
  if (bytes < regions * 40)  // size, source and clock of two events
    return std::fprintf(stderr, "binlog wrote %" PRIu64 " bytes for %" PRIu64 " regions\n", bytes, regions), 1;
  return result;
}
