#ifndef WHYWAIT_REPORT_SECTION_HPP
#define WHYWAIT_REPORT_SECTION_HPP

#include <whywait/report/json_writer.hpp>

#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

/// Where a document goes, whatever that is: so that what writes parts of it is compiled once. `Target` is called with
/// (const char*, size_t) and must outlive it.
class json_sink {
 public:
  template <class Target>
  explicit json_sink(Target& to)
      : to_(&to), write_([](void* t, const char* data, std::size_t size) { (*static_cast<Target*>(t))(data, size); }) {}

  void operator()(const char* data, std::size_t size) const { write_(to_, data, size); }

 private:
  void* to_;
  void (*write_)(void*, const char*, std::size_t);
};

using json_document = json_writer<json_sink>;

/// A part of a report that most programs do not have. The report knows how to ask for it, not what it is, so that only those
/// files compile it that make one.
class section {
 public:
  virtual ~section() = default;

  virtual std::string text(std::size_t columns) const = 0;  ///< of the text report; begins with an empty line, or is empty
  virtual void write(json_document& out) const = 0;         ///< its members of the document
};

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
