// binlog: a writer of its own with the time stamp counter, and BINLOG_INFO as documented; drained outside the time.
#include "../harness.hpp"

#include <binlog/binlog.hpp>

namespace {

struct discard {
  discard& write(const char*, std::streamsize) { return *this; }
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
}
void by_default(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    BINLOG_INFO("begin");
    harness::barrier();
    BINLOG_INFO("end");
  }
}

}  // namespace

int main(int argc, char** argv) {
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("binlog_rdtsc", with_counter, 2000, drain);
  rows.add("binlog", by_default, 2000, drain_default);
  return rows.main(argc, argv);
}
