// quill, LOG_INFO into a bounded queue that drops, with the time stamp counter; its own thread formats, counts and
// discards.
#include "../harness.hpp"

#include <quill/Backend.h>
#include <quill/Frontend.h>
#include <quill/LogMacros.h>
#include <quill/Logger.h>
#include <quill/sinks/NullSink.h>

#include <atomic>

namespace {

struct options {
  static constexpr quill::QueueType queue_type = quill::QueueType::BoundedDropping;
  static constexpr std::size_t initial_queue_capacity = 1 << 20;
  static constexpr std::uint32_t blocking_queue_retry_interval_ns = 800;
  static constexpr std::size_t unbounded_queue_max_capacity = std::size_t(1) << 31;
  static constexpr quill::HugePagesPolicy huge_pages_policy = quill::HugePagesPolicy::Never;
};
using frontend = quill::FrontendImpl<options>;
quill::LoggerImpl<options>* logger;
std::uint64_t logged = 0;
std::atomic<std::uint64_t> written{0};

struct counting_sink : quill::NullSink {
  void write_log(const quill::MacroMetadata*, std::uint64_t, std::string_view, std::string_view, const std::string&,
                 std::string_view, quill::LogLevel, std::string_view, std::string_view,
                 const std::vector<std::pair<std::string, std::string>>*, std::string_view, std::string_view) override {
    written.fetch_add(1, std::memory_order_relaxed);
  }
};

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    LOG_INFO(logger, "begin");
    harness::barrier();
    LOG_INFO(logger, "end");
  }
  logged += 2 * times;
}

}  // namespace

int main(int argc, char** argv) {
  quill::Backend::start();
  logger = frontend::create_or_get_logger("root", frontend::create_or_get_sink<counting_sink>("sink"));
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("quill", region, 2000, [] { logger->flush_log(); });
  const int result = rows.main(argc, argv);
  logger->flush_log();
  if (written != logged)
    return std::fprintf(stderr, "quill wrote %" PRIu64 " of %" PRIu64 " messages\n", written.load(), logged), 1;
  return result;
}
