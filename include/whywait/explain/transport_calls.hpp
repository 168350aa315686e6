#ifndef WHYWAIT_EXPLAIN_TRANSPORT_CALLS_HPP
#define WHYWAIT_EXPLAIN_TRANSPORT_CALLS_HPP

#include <whywait/explain/packet.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

// What a transport hands to the engine, behind one type each: so the engine is compiled once, however many transports
// a program uses. They borrow what they are made of.

/// to(rank): the packet that goes to that rank.
class outbox_call {
 public:
  template <class To>
  explicit outbox_call(To& to)
      : to_(&to), call_([](void* self, std::int32_t rank) -> packet& { return (*static_cast<To*>(self))(rank); }) {}
  packet& operator()(std::int32_t rank) const { return call_(to_, rank); }

 private:
  void* to_;
  packet& (*call_)(void*, std::int32_t);
};

/// post(rank, packet): sends it on its way now.
class post_call {
 public:
  template <class Post>
  explicit post_call(Post& post)
      : post_(&post), call_([](void* self, std::int32_t rank, const packet& data) {
          (*static_cast<Post*>(self))(rank, data);
        }) {}
  void operator()(std::int32_t rank, const packet& data) const { call_(post_, rank, data); }

 private:
  void* post_;
  void (*call_)(void*, std::int32_t, const packet&);
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
